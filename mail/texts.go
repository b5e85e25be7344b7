package mail

import (
	"bytes"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"strconv"
	texttemplate "text/template"
	"time"
)

// Notice is the kind of a transactional mail. The words are stable: they are stored in the mail queue.
type Notice string

// The notices, and what URL leads to in each.
const (
	NoticeConfirm      Notice = "confirm"      // the page that confirms the subscription
	NoticeSubscribed   Notice = "subscribed"   // unsubscribe; may be empty
	NoticeUnsubscribed Notice = "unsubscribed" // undo
	NoticeVerify       Notice = "verify"       // the page that verifies the address
	NoticeRegistered   Notice = "registered"   // sign in
	NoticeReverify     Notice = "reverify"     // verify and choose a new password
	NoticeReset        Notice = "reset"        // choose a new password
)

// notices holds the subject of each; %s is the list, or the brand where no list is spoken of.
var notices = map[Notice]struct {
	subject string
	list    bool
}{
	NoticeConfirm:      {"Please confirm your subscription to %s", true},
	NoticeSubscribed:   {"You are subscribed to %s already", true},
	NoticeUnsubscribed: {"You were unsubscribed from %s", true},
	NoticeVerify:       {"Verify your address for %s", false},
	NoticeRegistered:   {"You have an account at %s already", false},
	NoticeReverify:     {"Verify your address for %s", false},
	NoticeReset:        {"Choose a new password for %s", false},
}

// Brand is how a tenant, or the daemon itself, shows itself.
type Brand struct {
	Name string
	// Color is #rgb or #rrggbb, of buttons; anything else gives the built-in one.
	Color string
	// LogoURL is an absolute https address; the name is printed where empty.
	LogoURL       string
	PostalAddress string
}

// NoticeData is what a notice says. The caller builds the link.
type NoticeData struct {
	To    string // the address that gets the mail
	List  string // name of the list, where one is spoken of
	URL   string
	Valid time.Duration // how long the link works
	Brand Brand
}

//go:embed texts
var textFiles embed.FS

var (
	noticeTexts = texttemplate.Must(texttemplate.ParseFS(textFiles, "texts/*.txt"))
	noticePages = func() map[Notice]*htmltemplate.Template {
		pages := map[Notice]*htmltemplate.Template{}
		for n := range notices {
			pages[n] = htmltemplate.Must(htmltemplate.ParseFS(textFiles, "texts/layout.html", "texts/"+string(n)+".html"))
		}
		return pages
	}()
)

// notice is what the templates see.
type notice struct {
	NoticeData
	Subject string
	Valid   string
}

type button struct{ URL, Label, Color string }

// Button is called by the templates.
func (n notice) Button(label string) button {
	return button{URL: n.URL, Label: label, Color: n.Brand.Color}
}

// Render makes subject, text and HTML of a notice. An unknown kind is an error; the data cannot be.
func (n Notice) Render(d NoticeData) (subject, text, html string, err error) {
	kind, ok := notices[n]
	if !ok {
		return "", "", "", fmt.Errorf("notice %q: unknown", string(n))
	}
	d.Brand.Name, d.List = cleanText(d.Brand.Name), cleanText(d.List)
	if d.Brand.Name == "" {
		d.Brand.Name = "our newsletter service"
	}
	if !colorOK(d.Brand.Color) {
		d.Brand.Color = "#1d4ed8"
	}
	if d.List == "" {
		d.List = "our newsletter"
	}
	name := d.Brand.Name
	if kind.list {
		name = d.List
	}
	v := notice{NoticeData: d, Subject: cleanText(fmt.Sprintf(kind.subject, name)), Valid: lifetime(d.Valid)}
	var b bytes.Buffer
	if err := noticeTexts.ExecuteTemplate(&b, string(n)+".txt", v); err != nil {
		return "", "", "", fmt.Errorf("notice %s: %w", n, err)
	}
	if d.Brand.PostalAddress != "" {
		b.WriteString("\n-- \n" + d.Brand.Name + "\n" + d.Brand.PostalAddress + "\n")
	} else {
		b.WriteString("\n-- \n" + d.Brand.Name + "\n")
	}
	text = b.String()
	b.Reset()
	if err := noticePages[n].ExecuteTemplate(&b, "layout", v); err != nil {
		return "", "", "", fmt.Errorf("notice %s: %w", n, err)
	}
	return v.Subject, text, b.String(), nil
}

func colorOK(s string) bool {
	if len(s) != 4 && len(s) != 7 || s[0] != '#' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 16, 32)
	return err == nil
}

// lifetime says a duration as people do.
func lifetime(d time.Duration) string {
	n, unit := int(d/(24*time.Hour)), "day"
	if d < 48*time.Hour {
		if n, unit = int(d/time.Hour), "hour"; d < 2*time.Hour {
			n, unit = int(d/time.Minute), "minute"
		}
	}
	if unit == "minute" && n == 60 {
		n, unit = 1, "hour"
	}
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}
