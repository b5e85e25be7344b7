// Package browsertest drives a real browser to test pages, and checks them with axe-core.
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

// Browser is a browser with its own profile. It runs until the test ends.
type Browser struct {
	testing.TB

	ctx context.Context
}

// New starts a browser. It skips the test if there is no browser, and outside of `make pages`, because a browser test
// takes as long as many other tests. The test runs in parallel with other browser tests. hosts are names that resolve
// to this machine.
func New(t *testing.T, hosts ...string) *Browser {
	t.Helper()
	if os.Getenv("NEWSLETTERD_BROWSER") != "" {
		t.Parallel()
	}
	return Another(t, hosts...)
}

// Another starts one more browser in a test.
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
	if err := chromedp.Do(ctx); err != nil { // the browser runs as long as the context of its first steps
		t.Fatal(err)
	}
	return &Browser{t, ctx}
}

// In returns the browser for a subtest.
func (b *Browser) In(t testing.TB) *Browser { return &Browser{t, b.ctx} }

// patience limits the duration of one Do. If an element never appears, only that test fails, and the next one can use
// the browser.
const patience = 2 * time.Minute

// Do runs steps in order. If one fails, or all of them take longer than two minutes, the test ends and shows the page.
func (b *Browser) Do(steps ...Step) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		where, _ := chromedp.Run(b.ctx, chromedp.Location())
		text, _ := chromedp.Run(b.ctx, chromedp.Text("body"))
		b.Fatalf("%v, at %s:\n%s", err, where, text)
	}
}

// Open opens a URL and runs further steps there.
func (b *Browser) Open(address string, steps ...Step) {
	b.Helper()
	b.Do(append([]Step{chromedp.Navigate(address)}, steps...)...)
}

// Click clicks the element that a selector finds, and then runs further steps.
func (b *Browser) Click(selector string, steps ...Step) {
	b.Helper()
	b.Do(append([]Step{chromedp.Click(selector)}, steps...)...)
}

// Submit runs steps that send a form, and returns when the next page has loaded, even if it looks like the previous
// one.
func (b *Browser) Submit(steps ...Step) {
	b.Helper()
	const page = chromedp.CSS("main") // as a search, it also finds text
	b.Do(chromedp.SetAttributeValue(page, "data-before", "true"))
	b.Do(steps...)
	b.Do(chromedp.WaitNotPresent(page+"[data-before]"), chromedp.WaitVisible(page))
}

// Heading returns a step that waits for a page with the text in its heading.
func Heading(text string) Step { return chromedp.WaitVisible(`//h1[contains(., "` + text + `")]`) }

// Fault returns a step that waits for a page that shows an error with the text.
func Fault(text string) Step {
	return chromedp.WaitVisible(`//p[@id="fault"][contains(., "` + text + `")]`)
}

// Notice returns a step that waits for a page that confirms an action with the text.
func Notice(text string) Step {
	return chromedp.WaitVisible(`//p[@class="notice"][contains(., "` + text + `")]`)
}

// Scripts returns a step that turns scripts on pages on or off.
func Scripts(on bool) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// Language returns a step that makes the browser request pages in a language.
func Language(tag string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": tag}})
		return err
	})
}

// OnEachPage returns a step that makes a script run at the start of every later page.
func OnEachPage(script string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// scheme sets the preferred color scheme, "light" or "dark".
func scheme(name string) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: name},
				{Name: "prefers-reduced-motion", Value: "reduce"}, // otherwise a screenshot can show a color transition
			},
		})
		return err
	})
}

// Location returns the URL of the page.
func (b *Browser) Location() string {
	b.Helper()
	return ask(b, chromedp.Location())
}

// Text returns the text of the first element that a selector finds.
func (b *Browser) Text(selector string) string {
	b.Helper()
	return ask(b, chromedp.Text(selector))
}

// Frames returns the pages in the page's frames. A page that the browser doesn't show has an UnreachableURL.
func (b *Browser) Frames() (frames []*cdp.Frame) {
	b.Helper()
	for _, f := range call(b, page.GetFrameTree, cdp.Empty{}).FrameTree.ChildFrames {
		frames = append(frames, f.Frame)
	}
	return frames
}

// ask returns the result of a step.
func ask[T any](b *Browser, step chromedp.Action[T]) T {
	b.Helper()
	answer, err := chromedp.Run(b.ctx, step)
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

// Look checks a page with axe-core in light and dark colors. If SCREENSHOTS names a folder, it also takes screenshots
// in both, at phone and desktop width. If axe-core ran, scripts are on afterwards.
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

// axe returns the script axe.min.js of axe-core, an accessibility checker, if AXE names its file. `make pages`
// downloads it if npm is installed. Without it the pages are still tested.
var axe = sync.OnceValues(func() (string, error) {
	name := os.Getenv("AXE")
	if name == "" {
		return "", nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
})

// runAxe runs axe-core on the page after its color transitions, and lists the violations.
const runAxe = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(
	() => Promise.race([Promise.all(document.getAnimations().map(a => a.finished.catch(() => {}))),
		new Promise(done => setTimeout(done, 2000))])).then(
	() => axe.run(document, {resultTypes: ["violations"]})).then(r => r.violations.map(
	v => v.id + " (" + v.impact + "): " + v.help + "\n" + v.nodes.map(n => "    " + n.html).join("\n")).join("\n"))`

// beyond returns how many pixels any element extends beyond the page or its card, after a new layout. Toolbars and tabs
// are excluded because they scroll sideways.
const beyond = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(Math.max(
	document.documentElement.scrollWidth - innerWidth,
	...[...document.querySelectorAll("main *:not([role=toolbar] *, .tabs *)")].map(
		e => Math.floor(e.getBoundingClientRect().right - document.querySelector("main").getBoundingClientRect().right)))))))`

// fits waits up to five seconds until beyond is at most 0, because scripts that follow a change of width can take more
// than two frames on a busy machine. It returns the last value of beyond.
const fits = `(async () => {
	for (let n = 0, over; ; n++) {
		over = await (` + beyond + `);
		if (over <= 0 || n === 200) return over;
		await new Promise(done => setTimeout(done, 25));
	}
})()`

// Fits checks that no element extends beyond a page, at phone and desktop width. Scripts are on afterwards.
func (b *Browser) Fits(name string) {
	b.Helper()
	for _, width := range []int64{320, 1280} {
		b.Do(Scripts(true), chromedp.EmulateViewport(width, 600))
		if over := ask(b, chromedp.Evaluate[float64](fits, chromedp.EvalAwaitPromise)); over > 0 {
			b.Errorf("%s, %d pixels wide: something stands out by %g", name, width, over)
		}
	}
}

// Overflow returns how many pixels wider the page is than a window of the given width.
func (b *Browser) Overflow(width int64) float64 {
	b.Helper()
	b.Do(chromedp.EmulateViewport(width, 600))
	return ask(b, chromedp.Evaluate[float64](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
		() => done(document.documentElement.scrollWidth - innerWidth))))`, chromedp.EvalAwaitPromise))
}

// Picture returns a screenshot of the whole page as a JPEG.
func (b *Browser) Picture(quality int) []byte {
	b.Helper()
	size := ask(b, chromedp.Evaluate[[]int64](`[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`))
	b.Do(chromedp.EmulateViewport(size[0], size[1]))
	return ask(b, chromedp.FullScreenshot(quality))
}

// Eval returns the value of a JavaScript expression as text. It awaits a promise.
func (b *Browser) Eval(expression string) string {
	b.Helper()
	return ask(b, chromedp.Evaluate[string]("(async () => String(await ("+expression+")))()",
		chromedp.EvalAwaitPromise))
}

// Wait waits up to ten seconds until a JavaScript expression is true.
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
