package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/people"
)

func previewFlags(flags ...cli.Flag) []cli.Flag {
	return append(flags, boolFlag("html", "print the HTML part instead of the text part"),
		boolFlag("open", "save the email as a web page, print its path, and open it in a browser if there is one"))
}

func (p *program) previewJobCommand() *cli.Command {
	preview := p.command("preview", "preview a send job", previewFlags(
		idFlag(people.NounJob), stringFlag("email",
			"preview it for the subscriber with this `ADDRESS` (default: a subscriber with no details)"),
	), []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		var to core.Email
		if c.IsSet("email") {
			var err error
			if to, err = givenEmail(c); err != nil {
				return err
			}
		}
		t, err := trial(c, cfg, s)
		if err != nil {
			return err
		}
		bulk, r, err := t.Preview(c.Context, c.String("id"), to, now())
		if err != nil {
			return missing(err, "job", c.String("id"))
		}
		return p.printPreview(c, bulk, &r)
	})
	preview.Description = "   newsletterd admin job preview --id ID --email ann@example.org --open"
	return preview
}

func (p *program) testJobCommand() *cli.Command {
	return p.command("test", "send a test email of a send job", []cli.Flag{
		idFlag(people.NounJob), stringFlag("email", "email `ADDRESS`"),
	}, []string{"id", "email"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		to, err := givenEmail(c)
		if err != nil {
			return err
		}
		t, err := trial(c, cfg, s)
		if err != nil {
			return err
		}
		if _, err := t.Test(c.Context, c.String("id"), to, now()); err != nil {
			return missing(err, "job", c.String("id"))
		}
		return p.done(c, "Test email to %s queued. The daemon sends it.", to)
	})
}

// trial tries jobs as the API does.
func trial(c *cli.Context, cfg *config.Config, s *store.Store) (t drafts.Trial, err error) {
	keys, err := newMailKeys(c.Context, s)
	return drafts.Trial{Store: s, Sealer: keys.sealer, Origin: cfg.Origin()}, err
}

func (p *program) previewTemplateCommand() *cli.Command {
	return p.command("preview", "preview a template with its layout", previewFlags(idFlag(people.NounTemplate)),
		[]string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			t, err := s.TemplateByID(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "template", c.String("id"))
			}
			content := drafts.SampleContent(&t)
			if content.Tenant, err = s.Tenant(c.Context, t.TenantID); err != nil {
				return err
			}
			if t.Layout != "" {
				if content.Layout, err = s.Template(c.Context, t.TenantID, t.Layout); err != nil {
					return missing(err, "template", t.Layout)
				}
			}
			bulk, err := mail.CompileShown(t.ID, &content)
			if err != nil {
				return err
			}
			r := drafts.SampleRecipient(cfg.Origin(), now())
			return p.printPreview(c, bulk, &r)
		})
}

// printPreview shows a mail as the flags of the command say.
func (p *program) printPreview(c *cli.Context, bulk *mail.Bulk, r *mail.Recipient) error {
	if c.Bool("open") {
		return p.openPage(c, bulk, r)
	}
	subject, text, html, err := bulk.Parts(r)
	if err != nil {
		return err
	}
	switch {
	case jsonWanted(c):
		return p.printer(c).value(struct {
			Subject string `json:"subject"`
			Text    string `json:"text"`
			HTML    string `json:"html"`
		}{subject, text, html})
	case !c.Bool("html"):
		lines := strings.Split("Subject: "+printable(subject)+"\n\n"+text, "\n")
		for i := range lines {
			lines[i] = printable(strings.TrimSuffix(lines[i], "\r"))
		}
		_, err = fmt.Fprintln(p.out, strings.TrimSuffix(strings.Join(lines, "\n"), "\n"))
	case html == "":
		return fmt.Errorf("the email has no HTML part")
	default:
		_, err = fmt.Fprintln(p.out, strings.TrimSuffix(html, "\n"))
	}
	return err
}

// openPage writes a mail to a file for a browser, and opens it where there is one. The file stays: the browser reads it
// after the command has ended.
func (p *program) openPage(c *cli.Context, bulk *mail.Bulk, r *mail.Recipient) error {
	page, err := bulk.Page(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "newsletterd-*.html")
	if err != nil {
		return err
	}
	_, err = f.Write(page)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if opener := p.opener(); opener != "" {
		if err := exec.Command(opener, f.Name()).Start(); err != nil {
			fmt.Fprintln(p.err, "warning:", err)
		}
	}
	if out := p.printer(c); out.json {
		return out.value(map[string]string{"file": f.Name()})
	}
	_, err = fmt.Fprintln(p.out, f.Name())
	return err
}

// opener is the program that opens files in the browser, empty where there is none: on Linux it needs a screen.
func (p *program) opener() string {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	} else if !slices.ContainsFunc(p.env, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return (name == "DISPLAY" || name == "WAYLAND_DISPLAY") && value != ""
	}) {
		return ""
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
