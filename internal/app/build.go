package app

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"go.temporal.io/sdk/worker"
)

// linkedHead is where Go's linker puts the identity of what it has built, counted from the
// beginning of the file (cmd/internal/buildid).
const linkedHead = 32 << 10

// NameBuild tells Temporal's SDK which program this is, before anything makes a worker. By
// itself the SDK reads the whole file for that: 0.4 s of CPU for dev, which has 240 MB.
func NameBuild() {
	program, err := os.Executable()
	if err != nil {
		return // the SDK will say what is wrong
	}
	if name, err := nameOfBuild(program); err == nil {
		worker.SetBinaryChecksum(name)
	}
}

func nameOfBuild(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if built, ok := debug.ReadBuildInfo(); ok { // programs may be linked without an identity
		fmt.Fprintln(sum, info.Size(), built)
	}
	_, err = io.Copy(sum, io.LimitReader(file, linkedHead))
	return fmt.Sprintf("%x", sum.Sum(nil)[:16]), err
}
