package command

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// OpenBrowser opens a link in the user's browser. In CI and without a display it opens nothing and returns an error.
func OpenBrowser(link string) error {
	if err := noDisplay(runtime.GOOS, os.Getenv); err != nil {
		return err
	}
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}
	cmd := exec.Command(opener[0], append(opener[1:], link)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it keeps running, and nobody needs the result
	return nil
}

// noDisplay says why nobody would see a browser; nil means that someone may.
func noDisplay(system string, env func(string) string) error {
	switch {
	case env("CI") != "" && env("CI") != "false":
		return errors.New("running in CI")
	case system != "darwin" && system != "windows" && env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "":
		return errors.New("no display found")
	}
	return nil
}
