package app

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"go.temporal.io/sdk/worker"
)

// linkedHead is the length of the file's beginning that contains the linker's build ID (cmd/internal/buildid).
const linkedHead = 32 << 10

// NameBuild sets the build ID for Temporal's SDK. Call it before creating any worker. Otherwise the SDK hashes the whole file: 0.4
// s of CPU for dev, which is 240 MB.
func NameBuild() {
	program, err := os.Executable()
	if err != nil {
		return // the SDK reports the error
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
	if built, ok := debug.ReadBuildInfo(); ok { // programs may be linked without a build ID
		fmt.Fprintln(sum, info.Size(), built)
	}
	_, err = io.Copy(sum, io.LimitReader(file, linkedHead))
	return fmt.Sprintf("%x", sum.Sum(nil)[:16]), err
}
