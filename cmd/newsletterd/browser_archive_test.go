package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// drawn returns a PNG with the size of storetest's images: hills in a color below a sky.
func drawn(hue uint8) string {
	m := image.NewPaletted(image.Rect(0, 0, 1200, 800), color.Palette{
		color.RGBA{236, 228, 210, 255}, color.RGBA{hue, 120, 90, 255}, color.RGBA{hue / 2, 84, 60, 255},
	})
	for x := range 1200 {
		for y := range 800 {
			if y > 420+(x-500)*(x-500)/3000 {
				m.SetColorIndex(x, y, 1)
			}
			if y > 560+(x-900)*(x-900)/4000 {
				m.SetColorIndex(x, y, 2)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // writes to memory
	}
	return b.String()
}

// letterText is the Markdown of an issue with everything that an article has.
const letterText = `Hello {{ preferences.first_name | default: "friend" }},

![Hills](%s "The hills behind the shop, four weeks after picking.")

Every autumn somebody carries a crate into the shop and asks why the apples have gone soft by Advent. Nearly always the
answer is the same: they were kept where people like it, warm and dry. Apples like what we don't.

Last year we stored 19 varieties in four places and weighed them every other Saturday. The [full
chart](https://shop.example/chart) is on our site. Here is the *short* version.

## Cold, dark and a little damp

Four degrees is ideal. At ten, an apple lives **half as long**.

- Lay them side by side, stalks up, not touching.
- Keep them away from potatoes, which taste of apple by January.

> One bad apple is not a proverb. It is ethylene.

::: tip
If the air is dry, wrap each apple in newspaper.
:::

| Variety | Weeks |
|---|--:|
| Boskoop | 22 |
| Pilot | 30 |

[See all apples](https://shop.example/){.button}

You can [unsubscribe]({{ unsubscribe_url }}) at any time.
`

// letters sends n issues with images to a list with an archive, /a/garden/.
func letters(s *storetest.Seeder, n int, origin string) {
	l := s.NewList(func(in *core.ListInput) {
		in.Archive, in.Slug, in.Name = new(true), new("garden"), new("Garden letter")
		in.Description = new("What to sow, plant and harvest. Every Saturday morning, from a garden shop in " +
			"Exampleville.")
	})
	s.Readers(l, 1)
	titles := []string{
		"Apples, and where to keep them", "Leaves are no litter", "Bulbs, and how deep", "The last tomatoes",
		"Frost on the forecast?",
	}
	began := s.Time()
	for i := range n {
		k := (n - 1 - i) % len(titles)
		s.Now = began // the daemon removes uploads that began long ago
		m := s.NewMedia(fmt.Sprintf("hills-%d", k), []string{drawn(uint8(60 + 40*k))})
		s.Now = began.Add(time.Duration(i-n) * 7 * 24 * time.Hour)
		source := fmt.Sprintf(letterText, origin+m.Mail.Path(m.Name))
		if k == 3 {
			source = "Green ones ripen indoors, if you know what they need. It isn't light."
		}
		c := s.NewCampaign(l, func(f *core.CampaignFields) { f.Subject, f.Content.Source = titles[k], source })
		d, err := s.Draft(s.Context(), &c, 0, markup.CampaignParts, s.Now)
		s.Must(err)
		d.Head = campaigns.IssueHead{
			Title: titles[k], Summary: "A rake is for paths. Everywhere else, what falls now is next year's soil.",
		}
		if k != 3 {
			d.Head.IssueText = campaigns.IssueText{
				Words: source, Picture: origin + m.Mail.Path(m.Name), Width: 1200, Height: 800,
			}
		}
		s.Finish(s.SendDraft(&d))
	}
	s.Now = 0
}

// countShifts counts how far contents move while pages load.
const countShifts = `window.shifted = 0; new PerformanceObserver(l => { for (const e of l.getEntries()) shifted += e.value })
	.observe({type: "layout-shift", buffered: true})`

// outlined returns the faults of a page's headings: not one h1, or a skipped level.
const outlined = `(() => { const l = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(h => +h.tagName[1]);
	return [l.filter(n => n === 1).length === 1 ? "" : "h1: " + l, ...l.map((n, i) => i && n > l[i-1] + 1 ? "skips to h" + n : "")]
	.join("") })()`

// TestArchiveInABrowser reads the archive of a list without signing in, with and without scripts, and subscribes there.
func TestArchiveInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	d.seed.NewTenant(func(in *core.TenantInput) {
		in.BrandName, in.BrandColor, in.MailFromName = new("Linden Garden Shop"), new("#1d6b52"), new("Lisa Linden")
	})
	letters(d.seed, 26, d.cfg.Origin())
	archive := d.cfg.Origin() + "/a/garden/"
	look := func(name string) {
		t.Helper()
		b.Wait(`[...document.images].every(i => i.loading === "lazy" || i.complete)`)
		// On a busy machine, the font can come after the first paint. TestArchiveFontInABrowser allows no shift at all.
		if shifted := b.Eval("String(Math.round(shifted * 100))"); shifted != "0" {
			t.Errorf("%s: moves by %s/100 while it loads", name, shifted)
		}
		if faults := b.Eval(outlined); faults != "" {
			t.Errorf("%s: headings: %s", name, faults)
		}
		b.Look(name)
		b.Fits(name)
	}

	b.Do(browsertest.OnEachPage(countShifts))
	b.Open(archive, chromedp.WaitVisible(".issues"))
	look("archive")
	b.Click(`a[rel="next"]`, chromedp.WaitVisible(".issues"))
	look("archive-older")
	b.Open(archive, chromedp.WaitVisible(".issues"))
	b.Click(".first h2 a", chromedp.WaitVisible(".text"))
	look("archive-issue")
	if text := b.Text(".issue"); strings.Contains(text, "friend") || strings.Contains(text, "unsubscribe") ||
		!strings.Contains(text, "Lisa Linden") {
		t.Errorf("the article is %s", text)
	}
	if width := b.Eval(`String(Math.round(document.querySelector(".text").getBoundingClientRect().width /
		parseFloat(getComputedStyle(document.querySelector(".text")).fontSize)))`); width > "34" {
		t.Errorf("lines are %s em long", width)
	}
	b.Do(browsertest.Scripts(false))
	b.Open(archive, chromedp.WaitVisible(".issues"))
	b.Do(chromedp.SetValue("#email", "ann@example.org"))
	b.Click(".join button")
	b.Do(browsertest.Heading("Check your inbox"))
	b.Do(browsertest.Scripts(true))
}

// The archive is the start page of a tenant's own host, with the logo for dark backgrounds in dark mode.
func TestOwnHostInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	host := strings.Replace(d.cfg.Origin(), "127.0.0.1", "localhost", 1)
	logo := func(name string, hue uint8) *string {
		m := d.seed.NewMedia(name, []string{drawn(hue)})
		return new(host + m.Mail.Path(m.Name))
	}
	tenant := d.seed.NewTenant(func(in *core.TenantInput) { in.BrandName = new("Linden Garden Shop") })
	letters(d.seed, 3, host)
	d.seed.NewList(func(in *core.ListInput) { in.Name = new("Events") })
	d.seed.ChangeTenant(tenant.ID, core.TenantInput{
		PublicURL: &host, BrandLogoURL: logo("light", 60), BrandDarkLogoURL: logo("dark", 220),
	})
	b.Open(host+"/", chromedp.WaitVisible(".issues"))
	b.Look("own-host")
	b.Fits("own-host")
	const shown = `document.querySelector(".brand img").currentSrc.includes("dark") + ""`
	for scheme, want := range map[string]string{"light": "false", "dark": "true"} {
		b.Window(scheme, 1280, 800)
		if got := b.Eval(shown); got != want {
			t.Errorf("%s: the logo for dark backgrounds is shown: %s", scheme, got)
		}
	}
	b.Click(`h2 a[href="/bulbs-and-how-deep"]`, chromedp.WaitVisible(".text"))
	b.Click(".menu a:not(.button)", chromedp.WaitVisible(".issues"))
	b.Do(chromedp.SetValue("#q", "ethylene"))
	b.Click(".tools button", chromedp.WaitVisible("mark"))
	if at := b.Eval("location.href"); at != host+"/?q=ethylene" {
		t.Errorf("the search is at %s", at)
	}
}

// An archive is set in its font. Hardly anything moves while it loads, whether the font is early, late or missing.
func TestArchiveFontInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	letters(d.seed, 6, d.cfg.Origin())
	archive := d.cfg.Origin() + "/a/garden/"
	b.Do(browsertest.OnEachPage(countShifts))
	for _, latency := range []float64{0, 20, 50, 90, 150, 400} {
		line := browsertest.Online
		line.Latency = latency
		for _, path := range []string{"", "apples-and-where-to-keep-them"} {
			b.SetLine(line)
			b.ForgetFiles()
			b.Open(archive+path, chromedp.WaitVisible(".join"))
			b.Wait(`document.fonts.status === "loaded" && document.readyState === "complete"`)
			// A busy machine shows the fallback font for a frame. Its metrics differ by a fraction of a line.
			shifted, err := strconv.Atoi(b.Eval("String(Math.round(shifted * 1000))"))
			if err != nil || shifted > 10 {
				t.Errorf("%s, %v ms: moves by %d/1000, %v", path, latency, shifted, err)
			}
		}
	}
	b.SetLine(browsertest.Online)
	b.Open(archive+"apples-and-where-to-keep-them", chromedp.WaitVisible(".text")) // from the cache
	fonts := `[...document.fonts].filter(f => f.family === "Newsreader").map(f => f.status).join()`
	if loaded := b.Eval(fonts); loaded !=
		"loaded,loaded" {
		t.Errorf("the font is %s", loaded)
	}
}

// An archive doesn't move when its second half comes after the first has been shown.
func TestArchiveInPiecesInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	letters(d.seed, 6, d.cfg.Origin())
	shown := make(chan struct{}, 1)
	pieces := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/shown" {
			shown <- struct{}{}
			return
		}
		resp, err := http.Get(d.cfg.Origin() + r.URL.RequestURI())
		if err != nil {
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		if half := bytes.Index(body, []byte(`<div class="away"`)); half > 0 {
			_, _ = w.Write(body[:half])
			_ = http.NewResponseController(w).Flush()
			<-shown
			body = body[half:]
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(pieces.Close)
	b.Do(browsertest.OnEachPage(countShifts), browsertest.OnEachPage(
		`new PerformanceObserver((_, o) => { o.disconnect(); fetch("/shown") })
			.observe({type: "paint", buffered: true})`))
	for _, path := range []string{"/a/garden/", "/a/garden/apples-and-where-to-keep-them"} {
		b.Open(pieces.URL+path, chromedp.WaitVisible(".join button"))
		if shifted := b.Eval("String(shifted)"); shifted != "0" {
			t.Errorf("%s: moves by %s", path, shifted)
		}
	}
}

// TestDesignsInABrowser reads an issue whose email is a design of its own, which is shown in a frame.
func TestDesignsInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	l := d.seed.NewList(func(in *core.ListInput) { in.Archive, in.Slug = new(true), new("garden") })
	d.seed.Readers(l, 1)
	c := d.seed.NewCampaign(l, func(f *core.CampaignFields) {
		f.Subject, f.Content.Kind = "A design", core.ContentHTML
		f.Content.Source = `<table width="100%" bgcolor="#ffeecc"><tr><td><h2>News</h2><p>Text</p></td></tr></table>`
	})
	draft, err := d.seed.Draft(d.seed.Context(), &c, 0, markup.CampaignParts, d.seed.Time())
	d.Must(err)
	draft.Head = campaigns.IssueHead{Title: "A design"}
	d.seed.Finish(d.seed.SendDraft(&draft))
	b.Open(d.cfg.Origin()+"/a/garden/a-design", chromedp.WaitVisible("iframe.mail"))
	b.Look("archive-design")
	b.Fits("archive-design")
	if frames := b.Frames(); len(frames) != 1 || frames[0].UnreachableURL != "" {
		t.Errorf("the mail is not shown: %+v", frames)
	}
}
