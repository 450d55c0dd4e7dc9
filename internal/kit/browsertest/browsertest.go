// Package browsertest starts Chromium for tests.
package browsertest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// startTimeout is how long Chromium may take to start. A busy machine needs more than chromedp's 20 s.
const startTimeout = 2 * time.Minute

// Start starts a headless Chromium with an empty profile, and returns the context of its first tab. The browser ends with the test.
func Start(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test needs Chromium (apt-get install chromium): %v", err)
	}
	options = append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(startTimeout),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true),
	}, options...)
	ctx, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	// chromedp logs unknown events of a newer Chromium as errors.
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() { // the profile can only be removed after the browser has ended
		_ = chromedp.Cancel(ctx)
		end()
	})
	if err := chromedp.Run(ctx); err != nil { // the context of the first run owns the browser
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}
