package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"juju/doc/tools/verify"
)

// A tab is a page that Chromium shows. What it logs, and each exception of a script, fails the test.
type tab struct {
	testing.TB
	ctx    context.Context
	origin string      // https://HOST:PORT
	quiet  atomic.Bool // errors are expected: the controller is away
}

// openTab starts Chromium with an empty profile; the test is skipped where there is none.
func openTab(t testing.TB, origin string) *tab {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.IgnoreCertErrors,
		chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+t.TempDir()), chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(verify.Patience))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, done := chromedp.NewContext(allocated)
	t.Cleanup(done)
	b := &tab{TB: t, ctx: ctx, origin: origin}
	b.run(cdpAction(network.Enable, network.EnableParams{}))
	b.ctx, stop = context.WithTimeout(ctx, verify.Patience) // the first context is the browser's
	t.Cleanup(stop)
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	return b
}

// heard checks what happens in the browser.
func (b *tab) heard(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.Errorf("a script failed: %+v: %+v", e.ExceptionDetails, e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		b.Errorf("the console says %s: %v", e.Type, e.Args)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 && !b.quiet.Load() {
			b.Errorf("%s: %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.origin+"/") && !strings.HasPrefix(e.Request.URL, "data:") && e.Request.URL != "about:blank" {
			b.Errorf("a page asks %s", e.Request.URL)
		}
	}
}

// cdpAction returns an action that sends a command of the protocol.
func cdpAction[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.shows()
		b.Fatal(err)
	}
}

// shows logs what the page shows, for a test that fails.
func (b *tab) shows() {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	b.Logf("the page shows (%v):\n%s", err, text)
}

// goes opens a path below /dashboard/.
func (b *tab) goes(path string) {
	b.Helper()
	b.run(chromedp.Navigate(b.origin + "/dashboard/" + path))
}

// until waits until an expression of JavaScript is true, also on the next page.
func (b *tab) until(format string, args ...any) {
	b.Helper()
	expression := fmt.Sprintf(format, args...)
	for {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(2*time.Minute)))
		if err == nil {
			return
		}
		if errors.Is(err, chromedp.ErrPollingTimeout) || b.ctx.Err() != nil {
			b.shows()
			b.Fatalf("never true: %s: %v", expression, err)
		}
	}
}

// reads waits until the page shows a text.
func (b *tab) reads(text string) {
	b.Helper()
	b.until("document.body.innerText.includes(%q)", text)
}

// clicks clicks on the link or button with a label, once it is there; in the dialog if that is open.
func (b *tab) clicks(label string) {
	b.Helper()
	found := fmt.Sprintf(`[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("a, button, summary")].find((e) => e.innerText.trim() === %q)`, label)
	b.until("%s !== undefined", found)
	b.run(chromedp.Evaluate[chromedp.Void](found + ".click()"))
}

// types replaces what is in the field that a selector chooses.
func (b *tab) types(selector, text string) {
	b.Helper()
	b.until("document.querySelector(%q) !== null", selector)
	b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.value = %q;
		e.dispatchEvent(new Event("input", { bubbles: true })); })()`, selector, text)))
}

// evaluate returns what an expression is, or what it promises.
func evaluate[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.shows()
		b.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// A violation is one that axe-core has found.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	} `json:"nodes"`
}

// accessible checks the page as it is with axe-core, in light and dark, if LIBRARIES is the folder where npm has put it.
func (b *tab) accessible(what string) {
	b.Helper()
	dir := os.Getenv("LIBRARIES")
	if dir == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, "axe-core", "axe.min.js"))
	if err != nil {
		b.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.run(cdpAction(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}),
			chromedp.Evaluate[chromedp.Void](string(text)))
		violations := evaluate[[]violation](b, `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => r.violations)`)
		for _, v := range violations {
			for _, n := range v.Nodes {
				b.Errorf("%s, %s: %s (%s): %s: %s", what, scheme, v.Help, v.ID, n.HTML, n.FailureSummary)
			}
		}
	}
	b.run(cdpAction(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
}

// evaluation returns an action that evaluates an expression.
func evaluation(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](expression)
}

// scroll returns an action that shows an element.
func scroll(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).scrollIntoView({ block: "center" })`, selector))
}

// picture stores a picture of the window in the folder PICTURES, if that is set.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}
