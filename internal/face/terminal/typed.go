package terminal

import (
	"io"
	"os"
)

// DropTyped discards unread input on a terminal, including a partial line: it was meant for an earlier prompt. It leaves other
// inputs alone.
func DropTyped(in io.Reader) {
	if file, ok := in.(*os.File); ok && IsTerminal(file) {
		_ = dropInput(int(file.Fd()))
	}
}
