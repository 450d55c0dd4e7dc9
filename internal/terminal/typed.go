package terminal

import (
	"io"
	"os"
)

// DropTyped drops what has been typed on a terminal and not been read, half a line too: it was
// meant for what was asked before. What is no terminal keeps what it has.
func DropTyped(in io.Reader) {
	if file, ok := in.(*os.File); ok && IsTerminal(file) {
		_ = dropInput(int(file.Fd()))
	}
}
