package terminal

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A partial line typed for a closed question is not part of the next answer.
func TestHalfALineIsDropped(t *testing.T) {
	t.Parallel()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer keys.Close()
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	typed := bufio.NewReader(in)
	for _, half := range []string{"y", "a line\ny"} {
		if _, err := keys.WriteString(half); err != nil {
			t.Fatal(err)
		}
		DropTyped(in)
		if _, err := keys.WriteString("n\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := typed.ReadString('\n'); line != "n\n" || err != nil {
			t.Errorf("%q, then a line: read %q, %v", half, line, err)
		}
	}
}
