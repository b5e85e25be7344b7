package mail

import (
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// inspected returns the codes of the findings in an email, and its URLs.
func inspected(t *testing.T, change func(*BulkSpec, *Inspection)) (codes, addresses []string) {
	t.Helper()
	spec := BulkSpec{
		From: Address{Email: "a@acme.example"}, ListID: "l", ListName: "L", Subject: "News",
		HTML:   `<p>Hello <a href="{{ unsubscribe_url }}">leave</a></p>`,
		Shared: Shared{Tenant: map[string]string{"postal_address": "Acme\n1 Street"}},
	}
	in := Inspection{
		Recipient: &Recipient{Email: "r@reader.example", Date: time.Unix(0, 0), UnsubscribeURL: "https://acme.example/u"},
		Written:   true, Place: func(string) core.FindingPlace { return core.FindingPlace{} },
	}
	spec.HTML += "<p>{{ tenant.postal_address }}</p>"
	change(&spec, &in)
	b, err := CompileBulk(&spec)
	if err != nil {
		t.Fatal(err)
	}
	found, addresses, err := b.Inspect(&in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		codes = append(codes, f.Code)
		stops := strings.HasPrefix(f.Code, "subject_pl") || f.Code == LocalPictureCode
		if f.Message == "" || f.Hint == "" || (f.Severity == core.SeverityError) != stops {
			t.Errorf("%+v", f)
		}
	}
	return codes, addresses
}

// TestInspection checks that each probable mistake is found under its code, and that correct content has no findings.
func TestInspection(t *testing.T) {
	opens := Tracking{Open: true, Origin: "https://news.example"}
	html := func(body string) func(*BulkSpec, *Inspection) {
		return func(s *BulkSpec, _ *Inspection) { s.HTML += body }
	}
	subject := func(text string) func(*BulkSpec, *Inspection) {
		return func(s *BulkSpec, _ *Inspection) { s.Subject = text }
	}
	for name, tt := range map[string]struct {
		change func(*BulkSpec, *Inspection)
		want   string
	}{
		"all is right":        {html(""), ""},
		"subject":             {subject("Hi {{ preferences.name }}"), "subject_placeholder_without_default"},
		"its default":         {subject(`Hi {{ preferences.name | upcase | default: "you" }}`), ""},
		"its empty default":   {subject(`Hi {{ preferences.name | default: "" }}`), "subject_placeholder_without_default"},
		"it asks":             {subject(`{% if preferences.name %}{{ preferences.name }}, n{% else %}N{% endif %}ews`), ""},
		"it asks for another": {subject(`N{% if preferences.a %}{{ preferences.b }}{% endif %}`), "subject_placeholder_without_default"},
		"the title is the subject": {func(s *BulkSpec, in *Inspection) {
			s.Subject, in.Written = "Hi {{ preferences.name }}", false
			s.HTML = "<title>" + s.Subject + "</title>" + s.HTML
		}, "subject_placeholder_without_default"},
		"known values": {subject(`{{ email }} {{ list.name }}`), ""},
		"preheader": {
			func(s *BulkSpec, _ *Inspection) { s.Preheader = "{{ preferences.name }}" },
			"placeholder_without_default",
		},
		"body":             {html("{{ preferences.name }}"), "placeholder_without_default"},
		"an unknown field": {html("{{ list.nome }}"), "placeholder_unknown"},
		"a long subject":   {subject(strings.Repeat("ä", 71)), "subject_long"},
		"70 characters":    {subject(strings.Repeat("ä", 70)), ""},
		"no alt":           {html(`<img src="https://x.example/a.png">`), "image_without_alt"},
		"an empty alt":     {html(`<img src="https://x.example/a.png" alt="">`), ""},
		"a wide picture":   {html(`<img src="https://x.example/a.png" alt="" width="601">`), "image_too_wide"},
		"a wide style":     {html(`<img src="https://x.example/a.png" alt="" style="width:900px">`), "image_too_wide"},
		"a wider column":   {html(`<table width="700"><tr><td><img src="https://x.example/a.png" alt="" width="640"></td></tr></table>`), ""},
		"within the mail":  {html(`<img src="data:image/png;base64,AA==" alt="">`), "image_embedded"},
		"of Word":          {html(`<img src="file:///C:/Temp/clip_image002.png" alt="" width="900">`), "image_local"},
		"no address":       {html(`<a href="">x</a>`), "link_malformed"},
		"a path":           {html(`<a href="/shop">x</a>`), "link_malformed"},
		"a place":          {html(`<a href="#top">x</a>`), "link_malformed"},
		"a script":         {html(`<a href="ftp://x.example/">x</a>`), "link_malformed"},
		"a broken host":    {html(`<a href="https://[x/">x</a>`), "link_malformed"},
		"mail and phone":   {html(`<a href="mailto:a@x.example">x</a><a href="tel:+1">x</a>`), ""},
		"homographs":       {html(`<a href="https://xn--pple-43d.example/">x</a>`), "link_mixed_scripts"},
		"one script":       {html(`<a href="https://яблоко.example/">x</a><a href="https://bücher.example/">x</a>`), ""},
		"no way to leave": {
			func(s *BulkSpec, _ *Inspection) { s.HTML = "<p>{{ tenant.postal_address }}</p>" },
			"unsubscribe_link_added",
		},
		"no address in it": {
			func(s *BulkSpec, _ *Inspection) { s.HTML = `<a href="{{ unsubscribe_url }}">x</a>` },
			"postal_address_missing",
		},
		"no address at all": {func(s *BulkSpec, _ *Inspection) { s.Shared.Tenant = nil }, "postal_address_missing"},
		"another text": {
			func(s *BulkSpec, _ *Inspection) { s.Text = "Quite something else. {{ unsubscribe_url }}" },
			"text_differs",
		},
		"the same text": {func(s *BulkSpec, _ *Inspection) { s.Text = "Hello, leave: {{ unsubscribe_url }}" }, ""},
		"102 KB":        {html(strings.Repeat("x", 102_400)), "html_clipped"},
		"near, tracked": {func(s *BulkSpec, in *Inspection) {
			in.Track = Tracking{Open: true, Click: true, Origin: "https://news.example"}
			s.HTML += strings.Repeat(`<a href="https://x.example/">x</a>`, 1000) + strings.Repeat("x", 65_000)
		}, "html_clipped"},
		"opens of a short email": {func(_ *BulkSpec, in *Inspection) { in.Track = opens }, "pixel_in_short_mail"},
		"opens of a long email": {func(s *BulkSpec, in *Inspection) {
			in.Track = opens
			s.HTML += strings.Repeat("long text ", 280)
		}, ""},
		"opens of one with a picture": {func(s *BulkSpec, in *Inspection) {
			in.Track = opens
			s.HTML += `<img src="https://x.example/a.png" alt="">`
		}, ""},
		"near, not tracked": {html(strings.Repeat(`<a href="https://x.example/">x</a>`, 1000) + strings.Repeat("x", 65_000)), ""},
	} {
		if codes, _ := inspected(t, tt.change); strings.Join(codes, " ") != tt.want {
			t.Errorf("%s: %v, not %s", name, codes, tt.want)
		}
	}
}

// TestAddressesOfAMail checks that the URLs include all without placeholders: also those of links that exclude
// tracking, and those in a text-only email.
func TestAddressesOfAMail(t *testing.T) {
	_, got := inspected(t, func(s *BulkSpec, _ *Inspection) {
		s.HTML += `<a href="https://x.example/?a=1&amp;b=2">x</a> <a href="https://x.example/{{ email }}">x</a>` +
			`<a data-no-track href="https://y.example/">y</a><img src="https://z.example/a.png" alt="">`
	})
	if want := []string{"https://x.example/?a=1&b=2", "https://y.example/", "https://z.example/a.png"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	_, got = inspected(t, func(s *BulkSpec, _ *Inspection) {
		s.HTML, s.Text = "", "See https://x.example/a, or (https://y.example/). https://z.example/{{ email }} {{ unsubscribe_url }}"
	})
	if want := []string{"https://x.example/a", "https://y.example/"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLocalPicture checks that the warning about a local image names its alt text or, without one, its file.
func TestLocalPicture(t *testing.T) {
	for _, c := range []struct{ src, alt, name, want string }{
		{
			"file:///C:/Temp/clip_image002.png", " A boot ", "A boot",
			"The image “A boot” is only on your computer. Upload it.",
		},
		{`FILE:///C:\Temp\boot.png`, "", "boot.png", "The image “boot.png” is only on your computer. Upload it."},
		{"file:", "", "", "An image is only on your computer. Upload it."},
		{"https://acme.example/file:", "A boot", "", ""},
		{"files", "", "", ""},
	} {
		if name, got := LocalPicture(c.src, c.alt); got != c.want || name != c.name {
			t.Errorf("%s: %q, %q", c.src, name, got)
		}
	}
}
