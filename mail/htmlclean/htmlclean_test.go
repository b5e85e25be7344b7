package htmlclean_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"newsletterd/mail/htmlclean"
)

func TestBody(t *testing.T) {
	small := "data:image/png;base64," + strings.Repeat("AAAA", 100)
	large := "data:image/png;base64," + strings.Repeat("AAAA", 30<<10)
	for in, want := range map[string]string{
		`<h2 class="x" id="y" style="color:red">A</h2>`:         `<h2>A</h2>`,
		`<p onclick="x()">A<script>x()</script></p>`:            `<p>A</p>`,
		`<style>p{}</style><p>A</p>`:                            `<p>A</p>`,
		`<iframe src="javascript:x()">A</iframe>B`:              `B`,
		`<form action="/x"><input name="a">B<button>C</button>`: `BC`,
		`<a href="javascript:x()">A</a>`:                        `A`,
		`<a href="JaVa&#10;script:x()">A</a>`:                   `A`,
		`<a href="https://e.org/?a&amp;b">A</a>`: `<a href="https://e.org/?a&amp;b" ` +
			`rel="noreferrer">A</a>`,
		`<a href="mailto:a@e.org">A</a>`:                         `<a href="mailto:a@e.org" rel="noreferrer">A</a>`,
		`<a href="data:text/html;base64,AAAA">A</a>`:             `A`,
		`<img src="https://e.org/a.png" alt="A" width="3">`:      `<img src="https://e.org/a.png" alt="A" width="3">`,
		`<img src="` + small + `">`:                              `<img src="` + small + `">`,
		`<img src="` + large + `">`:                              ``,
		`<img src="data:image/svg+xml;base64,AAAA">`:             ``,
		`<svg><a href="https://e.org">A</a></svg>B`:              `B`,
		`<img src=x onerror=x()>`:                                `<img src="x">`,
		`<base href="https://e.org/"><meta http-equiv=refresh>A`: `A`,
		`<figure><img src="/a"><figcaption>A</figcaption></figure>`: `<figure><img src="/a">` +
			`<figcaption>A</figcaption></figure>`,
	} {
		got := htmlclean.Body(in)
		if got != want {
			t.Errorf("%.80q\n got %.200q\nwant %.200q", in, got, want)
		}
		if again := htmlclean.Body(got); again != got {
			t.Errorf("cleaning %.80q again changes it to %.200q", got, again)
		}
	}
}

// Frames, videos and recordings of old issues become links.
func TestPlayersBecomeLinks(t *testing.T) {
	const rel = ` rel="noreferrer">`
	for in, want := range map[string]string{
		`<div class="youtube-wrap"><iframe src="https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?rel=0&amp;autoplay=0" ` +
			`frameborder="0" width="728" height="409"></iframe></div>`: `<div><p>` +
			`<a href="https://www.youtube.com/watch?v=dQw4w9WgXcQ"` + rel +
			`<img src="https://i.ytimg.com/vi/dQw4w9WgXcQ/hqdefault.jpg" alt=""><br>▶ youtube.com</a></p></div>`,
		`<figure><iframe title="A & &quot;B&quot;" src="//player.vimeo.com/video/12?h=1"></iframe>` +
			`<figcaption>C</figcaption></figure>`: `<figure><p><a href="https://vimeo.com/12"` + rel +
			`▶ A &amp; &#34;B&#34; (vimeo.com)</a></p><figcaption>C</figcaption></figure>`,
		`<iframe src="https://www.youtube.com/embed/videoseries?list=x&y=z">`: `<p>` +
			`<a href="https://www.youtube.com/embed/videoseries?list=x&amp;y=z"` + rel + `▶ youtube.com</a></p>`,
		`<VIDEO poster="https://e.org/p.jpg" controls><source src="https://e.org/a.mp4">Old browser</video>B`: `<p>` +
			`<a href="https://e.org/a.mp4"` + rel + `<img src="https://e.org/p.jpg" alt=""><br>▶ e.org</a></p>B`,
		`<audio src="https://e.org/a.mp3"></audio>`:                        `<p><a href="https://e.org/a.mp3"` + rel + `▶ e.org</a></p>`,
		`<iframe src="https://e.org/pixel" width="1" height="1"></iframe>`: ``,
		`<video poster="/a.jpg"><source src="/content/a%20b.mp4"></video><audio src="/c.mp3" title="C"></audio>`: `<p>` +
			`<a href="/content/a%20b.mp4"` + rel + `<img src="/a.jpg" alt=""><br>▶ a b.mp4</a></p>` +
			`<p><a href="/c.mp3"` + rel + `▶ C (c.mp3)</a></p>`,
		`<iframe src="/own"></iframe><iframe srcdoc="<b>x"></iframe>`:                  ``,
		`<iframe src="data:text/html,x"></iframe><video><source src="#x"></video>`:     ``,
		`<script>"<iframe src='https://e.org'></iframe>"</script><!--<video src=x>-->`: ``,
	} {
		got := htmlclean.Body(in)
		if got != want {
			t.Errorf("%.80q\n got %.400q\nwant %.400q", in, got, want)
		}
		if again := htmlclean.Body(got); again != got {
			t.Errorf("cleaning %.80q again changes it to %.200q", got, again)
		}
	}
}

// Text after an element, a tag or a comment without an end stays.
func TestBodyKeepsTextAfterUnclosedElements(t *testing.T) {
	link := func(host string) string {
		return `<p><a href="https://` + host + `/a" rel="noreferrer">▶ ` + host + `</a></p>`
	}
	for in, want := range map[string]string{
		`A<video src="https://e.org/a"><p>B</p>`:                       `A` + link("e.org") + `<p>B</p>`,
		"<video>\n<source src='https://e.org/a'><track>\n</p><p>B</p>": link("e.org") + `</p><p>B</p>`,
		`<audio src="https://e.org/a" /><p>B</p>`:                      link("e.org") + `<p>B</p>`,
		`<iframe src="https://e.org/a"><p>B</p>`:                       link("e.org") + `<p>B</p>`,
		`<iframe src="https://e.org/a" /><p>B</p></iframe>`:            link("e.org"),
		`<object data=x><p>B</p>`:                                      `<p>B</p>`,
		`<svg><path><p>B</p><svg><g>C</g></svg>D`:                      `<p>B</p>D`,
		`</object><p>A</p><svg>B</svg><p>C</p>`:                        `<p>A</p><p>C</p>`,
		`<video src="https://e.org/a"><video></video></video><svg/>B`:  link("e.org") + `B`,
		`<frame><frameset><nostyle><p>B</p>`:                           `<p>B</p>`,
		`<script src=x><p>B</p><script>"<script>"; c()</script><p>D`:   `<p>B</p><p>D`,
		`<title><p>B</p>`:                                              `<p>B</p>`,
		`<style><p>B</p><style>`:                                       `<p>B</p>`,
		`<script><!--<script></script><p>B</p>`:                        `<p>B</p>`,
		`<plaintext><p>B</p><xmp><p>C</p></xmp>`:                       `<p>B</p><p>C</p>`,
		`<p>A</p><!-- more <p>B</p><!--C`:                              `<p>A</p> more <p>B</p>C`,
		`<p>A<a href="https://e.org/a>B</a> C</p><p title='>D</p><p>E`: `<p>AB</a> C</p>D</p><p>E`,
		`<p>A</p><p`:                 `<p>A</p>`,
		`1 <<svg></svg>svg><p>B</p>`: `1 &lt;svg&gt;<p>B</p>`,
		`<video src="https://a.org/a"><p>B</p><video src="https://e.org/a">C</video>D`: link("a.org") + `<p>B</p>` +
			link("e.org") + `D`,
		`<iframe src="https://a.org/a"><p>B</p><iframe src="https://e.org/a">C</iframe>D`: link("a.org") + `<p>B</p>` +
			link("e.org") + `D`,
	} {
		got := htmlclean.Body(in)
		if got != want {
			t.Errorf("%.80q\n got %.400q\nwant %.400q", in, got, want)
		}
		if again := htmlclean.Body(got); again != got {
			t.Errorf("cleaning %.80q again changes it to %.200q", got, again)
		}
	}
}

// forbidden lists elements that no clean text has. The text is parsed as by a browser.
const forbidden = " script style iframe frame form input button select textarea object embed svg math base meta link "

func fault(n *html.Node) string {
	if n.Type == html.ElementNode && strings.Contains(forbidden, " "+n.Data+" ") {
		return "<" + n.Data + ">"
	}
	for _, a := range n.Attr {
		value := strings.ToLower(strings.TrimSpace(a.Val))
		runs := strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "vbscript:")
		if strings.HasPrefix(a.Key, "on") || a.Key == "style" || runs && a.Key != "alt" && a.Key != "title" {
			return a.Key + "=" + a.Val
		}
	}
	for c := range n.ChildNodes() {
		if bad := fault(c); bad != "" {
			return bad
		}
	}
	return ""
}

func FuzzBody(f *testing.F) {
	f.Add(`<p onclick="x()">A<script>x()</script></p>`)
	f.Add(`<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">`)
	f.Add(`<a href=" java` + "\t" + `script:x()">A</a>`)
	f.Add(`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`)
	f.Add(`<iframe title="'><script>" src=//youtube.com/embed/dQw4w9WgXcQ>`)
	f.Add(`<video poster='https://e.org/"><script>'><source src="https://e.org/"></a>`)
	f.Add(`<<svg></svg>script><!--<p title="><iframe><xmp><script/><a href="><img src=1 onerror=alert(1)>`)
	f.Add(`<math><mtext><table><mglyph><style><img src=x onerror=x()>`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{htmlclean.Body(text), htmlclean.Post(text)} {
			page, err := html.Parse(strings.NewReader("<body>" + got))
			if err != nil {
				t.Fatal(err)
			}
			if bad := fault(page); bad != "" {
				t.Errorf("%q stays in %q", bad, got)
			}
		}
	})
}
