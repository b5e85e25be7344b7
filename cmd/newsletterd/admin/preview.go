package admin

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/people"
)

func previewFlags(flags ...cli.Flag) []cli.Flag {
	return append(flags, cli.Bool("html", "print the HTML part instead of the text part"),
		cli.Bool("open", "save the email as a web page, print its path, and open it in a browser if there is one"))
}

func (p commands) previewJobCommand() *cli.Command {
	preview := p.Command("preview", "preview a send job", previewFlags(
		cli.ID(people.NounJob), cli.String("email",
			"preview it for the subscriber with this `ADDRESS` (default: a subscriber with no details)"),
	), []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		var to core.Email
		if c.IsSet("email") {
			var err error
			if to, err = cli.GivenEmail(c); err != nil {
				return err
			}
		}
		t, err := trial(c, cfg, s)
		if err != nil {
			return err
		}
		bulk, r, err := t.Preview(c.Context, c.String("id"), to, now())
		if err != nil {
			return cli.Missing(err, "job", c.String("id"))
		}
		return p.printPreview(c, bulk, &r)
	})
	preview.Description = "   newsletterd admin job preview --id ID --email ann@example.org --open"
	return preview
}

func (p commands) testJobCommand() *cli.Command {
	return p.Command("test", "send a test email of a send job", []cli.Flag{
		cli.ID(people.NounJob), cli.String("email", "send the test email to `ADDRESS`"),
	}, []string{"id", "email"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		to, err := cli.GivenEmail(c)
		if err != nil {
			return err
		}
		t, err := trial(c, cfg, s)
		if err != nil {
			return err
		}
		if _, err := t.Test(c.Context, c.String("id"), to, now()); err != nil {
			return cli.Missing(err, "job", c.String("id"))
		}
		return p.Done(c, "Test email to %s queued. The daemon sends it.", to)
	})
}

// trial returns a Trial that tests jobs in the same way as the API.
func trial(c *cli.Context, cfg *config.Config, s *store.Store) (t drafts.Trial, err error) {
	keys, err := parts.NewMailKeys(c.Context, s)
	return drafts.Trial{Store: s, Sealer: keys.Sealer, Origin: cfg.Origin()}, err
}

func (p commands) previewTemplateCommand() *cli.Command {
	return p.Command("preview", "preview a template with its layout", previewFlags(cli.ID(people.NounTemplate)),
		[]string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			t, err := s.TemplateByID(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "template", c.String("id"))
			}
			content := drafts.SampleContent(&t)
			if content.Tenant, err = s.Tenant(c.Context, t.TenantID); err != nil {
				return err
			}
			if t.Layout != "" {
				if content.Layout, err = s.Template(c.Context, t.TenantID, t.Layout); err != nil {
					return cli.Missing(err, "template", t.Layout)
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

// printPreview prints a rendered email in the requested form, or opens it in a browser.
func (p commands) printPreview(c *cli.Context, bulk *mail.Bulk, r *mail.Recipient) error {
	if c.Bool("open") {
		return p.openPage(c, bulk, r)
	}
	subject, text, html, err := bulk.Parts(r)
	if err != nil {
		return err
	}
	switch {
	case cli.JSONWanted(c):
		return p.Printer(c).Value(struct {
			Subject string `json:"subject"`
			Text    string `json:"text"`
			HTML    string `json:"html"`
		}{subject, text, html})
	case !c.Bool("html"):
		lines := strings.Split("Subject: "+cli.Printable(subject)+"\n\n"+text, "\n")
		for i := range lines {
			lines[i] = cli.Printable(strings.TrimSuffix(lines[i], "\r"))
		}
		_, err = fmt.Fprintln(p.Out, strings.TrimSuffix(strings.Join(lines, "\n"), "\n"))
	case html == "":
		return fmt.Errorf("the email has no HTML part. Leave out --html to see the text")
	default:
		_, err = fmt.Fprintln(p.Out, strings.TrimSuffix(html, "\n"))
	}
	return err
}

// openPage writes an email to a file and opens it in a browser if there is one. The file is kept, because the browser
// may read it after the command has ended.
func (p commands) openPage(c *cli.Context, bulk *mail.Bulk, r *mail.Recipient) error {
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
	if open := opener(p.Env); open != "" {
		if err := exec.Command(open, f.Name()).Start(); err != nil {
			fmt.Fprintln(p.Err, "warning:", err)
		}
	}
	if out := p.Printer(c); out.JSON {
		return out.Value(map[string]string{"file": f.Name()})
	}
	_, err = fmt.Fprintln(p.Out, f.Name())
	return err
}

// opener returns the program that opens files in the browser, or "" if there is none. On Linux, the environment must
// name a display.
func opener(env []string) string {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	} else if !slices.ContainsFunc(env, func(kv string) bool {
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
