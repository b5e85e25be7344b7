// Package browsertest drives a real browser for tests of pages, and has axe-core look at them.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Step is one action in a browser, or a wait for a condition.
type Step = chromedp.Action[chromedp.Void]

// Browser is a browser with a profile of its own, until the test ends.
type Browser struct {
	testing.TB

	ctx context.Context
}

// New starts a browser, or skips the test where there is none, or where it isn't `make pages` that asks: a browser
// takes as long as many other tests. The test runs in parallel with other tests of browsers. hosts are names that
// lead to this machine.
func New(t *testing.T, hosts ...string) *Browser {
	t.Helper()
	if os.Getenv("NEWSLETTERD_BROWSER") != "" {
		t.Parallel()
	}
	return Another(t, hosts...)
}

// Another starts one more browser in a test that has one.
func Another(t testing.TB, hosts ...string) *Browser {
	t.Helper()
	if os.Getenv("NEWSLETTERD_BROWSER") == "" {
		t.Skip("make pages tries the pages in a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("SKIPPED: no browser on this machine (Debian: apt-get install chromium), so the pages are not tried in one")
	}
	var rules []string
	for _, host := range hosts {
		rules = append(rules, "MAP "+host+" 127.0.0.1")
	}
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", strings.Join(rules, ","))))
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	t.Cleanup(stop)
	return &Browser{t, ctx}
}

// In returns the browser for a part of the test.
func (b *Browser) In(t testing.TB) *Browser { return &Browser{t, b.ctx} }

// Do does one step after the other. Where one fails, the test ends and shows the page.
func (b *Browser) Do(steps ...Step) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		where, _ := chromedp.Run(b.ctx, chromedp.Location())
		text, _ := chromedp.Run(b.ctx, chromedp.Text("body"))
		b.Fatalf("%v, at %s:\n%s", err, where, text)
	}
}

// Open goes to an address and does further steps there.
func (b *Browser) Open(address string, steps ...Step) {
	b.Helper()
	b.Do(append([]Step{chromedp.Navigate(address)}, steps...)...)
}

// Click clicks what a selector finds, and does further steps after that.
func (b *Browser) Click(selector string, steps ...Step) {
	b.Helper()
	b.Do(append([]Step{chromedp.Click(selector)}, steps...)...)
}

// Submit does steps that send a form, and returns when the next page is there, which may look like the one before.
func (b *Browser) Submit(steps ...Step) {
	b.Helper()
	b.Do(chromedp.SetAttributeValue("main", "data-before", "true"))
	b.Do(steps...)
	b.Do(chromedp.WaitNotPresent("main[data-before]"), chromedp.WaitVisible("main"))
}

// Heading waits for a page by a text in its heading.
func Heading(text string) Step { return chromedp.WaitVisible(`//h1[contains(., "` + text + `")]`) }

// Fault waits for a page that says what was wrong.
func Fault(text string) Step {
	return chromedp.WaitVisible(`//p[@id="fault"][contains(., "` + text + `")]`)
}

// Notice waits for a page that says what was done.
func Notice(text string) Step {
	return chromedp.WaitVisible(`//p[@class="notice"][contains(., "` + text + `")]`)
}

// Scripts lets pages run scripts, or not.
func Scripts(on bool) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// Language has the browser ask for pages in a language.
func Language(tag string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": tag}})
		return err
	})
}

// OnEachPage runs a script at the beginning of every page from now on.
func OnEachPage(script string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// scheme has pages prefer "light" or "dark".
func scheme(name string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: name},
				{Name: "prefers-reduced-motion", Value: "reduce"}, // else colours are on their way in a picture
			},
		})
		return err
	})
}

// Location returns the address of the page.
func (b *Browser) Location() string {
	b.Helper()
	return ask(b, chromedp.Location())
}

// Text returns the text of the first element that a selector finds.
func (b *Browser) Text(selector string) string {
	b.Helper()
	return ask(b, chromedp.Text(selector))
}

// Frames returns the pages in the frames of the page. One that a browser doesn't show has an UnreachableURL.
func (b *Browser) Frames() (frames []*cdp.Frame) {
	b.Helper()
	for _, f := range call(b, page.GetFrameTree, cdp.Empty{}).FrameTree.ChildFrames {
		frames = append(frames, f.Frame)
	}
	return frames
}

// ask returns what a step finds out.
func ask[T any](b *Browser, step chromedp.Action[T]) T {
	b.Helper()
	answer, err := chromedp.Run(b.ctx, step)
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

// Look takes pictures of a page, light and dark, on a telephone and on a desk, where SCREENSHOTS names a folder, and
// has axe-core look at it, light and dark. Scripts are on afterwards if it has looked.
func (b *Browser) Look(name string) {
	b.Helper()
	dir := os.Getenv("SCREENSHOTS")
	script, err := axe()
	if err != nil {
		b.Fatal(err)
	}
	for _, colors := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			if dir == "" {
				break
			}
			b.Do(scheme(colors), chromedp.EmulateViewport(width, 800))
			file := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, colors, width))
			if err := os.WriteFile(file, ask(b, chromedp.FullScreenshot(100)), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		if script == "" {
			continue
		}
		b.Do(scheme(colors), Scripts(true))
		faults := ask(b, chromedp.Evaluate[string]("(() => {"+script+"})(); "+runAxe, chromedp.EvalAwaitPromise))
		if faults != "" {
			b.Errorf("%s, %s:\n%s", name, colors, faults)
		}
	}
}

// axe returns the script of the accessibility checker axe-core (axe.min.js), where AXE names its file: `make pages`
// fetches it where there is npm. Without it the pages are tried all the same.
var axe = sync.OnceValues(func() (string, error) {
	name := os.Getenv("AXE")
	if name == "" {
		return "", nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
})

// runAxe has axe-core look at the page, once its colours have come to rest, and lists what it finds.
const runAxe = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(
	() => Promise.race([Promise.all(document.getAnimations().map(a => a.finished.catch(() => {}))),
		new Promise(done => setTimeout(done, 2000))])).then(
	() => axe.run(document, {resultTypes: ["violations"]})).then(r => r.violations.map(
	v => v.id + " (" + v.impact + "): " + v.help + "\n" + v.nodes.map(n => "    " + n.html).join("\n")).join("\n"))`

// beyond is how far anything stands out of the page, or of its card, once that is laid out anew. A toolbar scrolls
// sideways.
const beyond = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(Math.max(
	document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll("main *:not([role=toolbar] *)")].map(
		e => Math.floor(e.getBoundingClientRect().right - document.querySelector("main").getBoundingClientRect().right)))))))`

// Fits checks that nothing stands out of a page, on a small telephone or on a desk. Scripts are on afterwards.
func (b *Browser) Fits(name string) {
	b.Helper()
	for _, width := range []int64{320, 1280} {
		b.Do(Scripts(true), chromedp.EmulateViewport(width, 600))
		if over := ask(b, chromedp.Evaluate[float64](beyond, chromedp.EvalAwaitPromise)); over > 0 {
			b.Errorf("%s, %d pixels wide: something stands out by %g", name, width, over)
		}
	}
}

// Overflow returns by how many pixels a page is wider than a window of a width.
func (b *Browser) Overflow(width int64) float64 {
	b.Helper()
	b.Do(chromedp.EmulateViewport(width, 600))
	return ask(b, chromedp.Evaluate[float64](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
		() => done(document.documentElement.scrollWidth - innerWidth))))`, chromedp.EvalAwaitPromise))
}

// Picture returns a JPEG of a page, as wide and as high as that is.
func (b *Browser) Picture(quality int) []byte {
	b.Helper()
	size := ask(b, chromedp.Evaluate[[]int64](`[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`))
	b.Do(chromedp.EmulateViewport(size[0], size[1]))
	return ask(b, chromedp.FullScreenshot(quality))
}

// Eval returns the value of an expression of JavaScript as text, after waiting for it where it is a promise.
func (b *Browser) Eval(expression string) string {
	b.Helper()
	return ask(b, chromedp.Evaluate[string]("(async () => String(await ("+expression+")))()",
		chromedp.EvalAwaitPromise))
}

// Wait waits until an expression of JavaScript is true, for ten seconds at most.
func (b *Browser) Wait(expression string) {
	b.Helper()
	found := b.Eval(`(async () => {
		for (let n = 0; n < 400; n++) {
			if (await (` + expression + `)) return true;
			await new Promise(done => setTimeout(done, 25));
		}
		return false;
	})()`)
	if found != "true" {
		text, _ := chromedp.Run(b.ctx, chromedp.Text("body"))
		b.Fatalf("%s doesn't become true:\n%s", expression, text)
	}
}
