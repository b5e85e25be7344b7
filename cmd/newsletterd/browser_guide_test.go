package main

import (
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// guideText is the newsletter of docs/console.md.
const guideText = `# The first frost

Dear {{ preferences.first_name | default: "gardener" }},

the dahlias were black this morning, so it is time. Three things can't wait for next weekend, and the others can.

1. **Earth up the roses.** A shovel of soil around each stem is enough.
2. **Empty the water butts.** Ice has more patience than wood.
3. **Leave the leaves.** Hedgehogs move in below them this week.

[See how it is done](https://linden.example/frost){.button}

::: tip
**Market on Saturday**, 9 to 1: tulip bulbs are half price until they are gone.
:::

Until then,
Lisa
`

// TestPicturesOfGuideInABrowser writes the screenshots for docs/console.md and README.md to the folder that GUIDE
// names, for `make pictures`. They show a shop with some hundred subscribers.
func TestPicturesOfGuideInABrowser(t *testing.T) {
	dir := os.Getenv("GUIDE")
	if dir == "" {
		t.Skip("make pictures takes the pictures of the guide")
	}
	s := newShop(t)
	home := s.d.cfg.Origin() + "/console/" + s.tenant.ID
	for _, p := range []struct{ name, at, ready string }{
		{"overview", "", "#growth svg"},
		{"editor", "/campaigns/" + s.draft.ID, ".editor-text"},
		{"send", "/campaigns/" + s.draft.ID + "/send", ".send"},
		{"report", "/campaigns/" + s.sent.ID, ".report"},
		{"people", "/people", ".table"},
		{"import", "/imports/" + s.file.ID, "main form"},
		{"list", "/lists/" + s.list.ID, "#growth svg"},
		{"themes", "/looks/themes", ".themes"},
		{"domain", "/settings/domains/" + s.domain.ID, ".records"},
	} {
		s.Open(home+p.at, chromedp.WaitVisible(p.ready))
		s.save(dir, p.name, s.Window("light", 1280, 800))
	}
	s.Open(s.d.cfg.Origin()+"/operator/mailings", chromedp.WaitVisible(".table"))
	s.save(dir, "operation", s.Window("light", 1280, 800))
	var phones []image.Image
	for _, p := range []struct{ at, colors string }{
		{"", "light"}, {"/campaigns/" + s.draft.ID, "light"}, {"/campaigns/" + s.sent.ID, "dark"},
	} {
		s.Do(chromedp.EmulateViewport(390, 760))
		s.Open(home+p.at, chromedp.WaitVisible(".main"))
		phones = append(phones, s.Window(p.colors, 390, 760))
	}
	s.save(dir, "telephone", browsertest.NextToEachOther(phones...))
}

// save writes a screenshot of the guide. It must stay small.
func (s *shop) save(dir, name string, p image.Image) {
	s.Helper()
	file := s.PNG(p)
	if len(file) > 100<<10 {
		s.Errorf("%s has %d bytes", name, len(file))
	}
	s.d.Must(os.WriteFile(filepath.Join(dir, "console-"+name+".png"), file, 0o600))
}

// shop is a tenant with subscribers, campaigns and a draft, whose administrator is signed in.
type shop struct {
	*browsertest.Browser
	d      *running
	tenant core.Tenant
	list   core.List
	draft  core.Campaign
	sent   core.Campaign
	file   core.ImportJob
	domain core.SenderDomain
}

func newShop(t *testing.T) *shop {
	t.Helper()
	zone := map[string][]string{
		"linden.example TXT": {"v=spf1 -all"}, "linden.example NS": {"ns1.hetzner.example"},
		"_dmarc.linden.example TXT": {"v=DMARC1; p=none"},
	}
	s := &shop{Browser: browsertest.New(t)}
	s.d = start(t, func(cfg *config.Config) {
		toServer(t, cfg)
		cfg.Mail.DNSServer = daemontest.DNS(t, zone)
	})
	seed := s.d.seed
	s.tenant = seed.NewTenant(func(in *core.TenantInput) {
		in.Name, in.BrandName = new("Linden Garden Shop"), new("Linden Garden Shop")
		in.PostalAddress = new("Linden Garden Shop, 5 Mill Lane, Ludlow")
		in.Domains, in.MailFrom = &[]string{"garden.example"}, new("letter@garden.example")
	})
	s.list = seed.NewList(func(in *core.ListInput) {
		in.Name, in.Description = new("Garden letter"), new("What to do in the garden, twice a month.")
	})
	market := seed.NewList(func(in *core.ListInput) { in.Name = new("Market dates") })
	seed.Import(s.list.ID, string(core.StatusActive), shopReaders(486)...)
	seed.Import(market.ID, string(core.StatusActive), shopReaders(112)...)
	seed.Pending(s.list.ID, "new.reader@mail.example")
	daemontest.Await(t, "the readers at the send side", func() bool {
		counts, err := s.d.store.ListCounts(t.Context(), []string{s.list.ID})
		s.d.Must(err)
		return counts[s.list.ID].Mailable == 486
	})
	domain, err := core.ProposeDomain(s.tenant.ID, "linden.example", now())
	s.d.Must(err)
	s.d.Must(s.d.store.ProposeSenderDomain(t.Context(), domain, "test"))
	s.domain = domain
	hash, err := s.d.auth.NewPassword(t.Context(), "password", daemontest.Password)
	s.d.Must(err)
	lisa := seed.NewUser("lisa@linden.example", hash, func(u *core.User) { u.Name = "Lisa Linden" })
	s.d.Must(s.d.store.GrantRole(t.Context(), lisa.ID, core.Role{Role: core.RoleOperator}, false, now()))
	for i, title := range []string{
		"The last tomatoes", "Bulbs, and how deep", "Leaves are no litter", "Apples, and where to keep them",
	} {
		s.sent = s.send(title, 7*(4-i))
	}
	for _, r := range shopReaders(5) {
		seed.Leave(s.list.ID, r.Email)
	}
	s.grow(s.list.ID, 481, 5)
	s.grow(market.ID, 112, 0)
	s.draft = seed.NewCampaign(s.list, func(f *core.CampaignFields) {
		f.Name, f.Subject = "November", "The first frost, and three things to do"
		f.Preheader = "The roses, the water and the leaves"
		f.Content.Source, f.Tracking = guideText, core.TrackingPersons
	})
	s.file = seed.NewImportJob(s.list.ID, "E-mail,First name,Town,Confirmed at\n"+
		"ada@mail.example,Ada,Ludlow,2025-03-02\n"+
		"grace@mail.example,Grace,Leominster,2025-03-09\n", func(j *core.ImportJob) { j.Name = "fair-2025.csv" })
	s.Do(chromedp.EmulateViewport(1280, 800))
	s.Open(s.d.cfg.Origin()+"/login", chromedp.SendKeys("#email", "lisa@linden.example"),
		chromedp.SendKeys("#password", daemontest.Password+"\r"), chromedp.WaitVisible(".shell"))
	return s
}

// shopReaders are people with names, for an import.
func shopReaders(n int) (rows []imports.ImportRow) {
	first := []string{
		"Ada", "Grace", "Joan", "Wilma", "Ben", "Carl", "Dora", "Emil", "Fay", "Hugo", "Ida", "Jack", "Mina",
	}
	last := []string{"arden", "bishop", "clay", "dell", "elm", "field", "green", "hill", "lake", "moor", "park"}
	for k := range n {
		name := first[k%len(first)]
		address := fmt.Sprintf("%s.%s%d@mail.example", strings.ToLower(name), last[k%len(last)], k)
		rows = append(rows, imports.ImportRow{
			Email: core.Email(address), Preferences: core.Preferences(fmt.Sprintf(`{"first_name":%q}`, name)),
		})
	}
	return rows
}

// send sends a campaign to the subscribers, some of whom open it and click, and moves it some days into the past.
func (s *shop) send(title string, days int) core.Campaign {
	s.Helper()
	c := s.d.seed.NewCampaign(s.list, func(f *core.CampaignFields) {
		f.Name, f.Subject, f.Tracking = title, title, core.TrackingPersons
		f.Content.Source = "# " + title + "\n\n[How it is done](https://linden.example/how)\n\n" +
			"[The shop](https://linden.example/shop)\n\n[The market](https://linden.example/market)\n"
	})
	draft, _, err := (drafts.Drafts{
		Store: s.d.store, Sealer: s.d.keys.Sealer, Origin: s.d.cfg.Origin(),
	}).Ready(s.Context(), &c, c.Version, now())
	s.d.Must(err)
	j := s.d.seed.SendDraft(&draft)
	daemontest.Await(s, "a mailing", func() bool {
		j = s.d.seed.Reload(j)
		return j.Status == core.JobCompleted
	})
	const day = 24 * time.Hour
	morning := now().Time().UTC().Truncate(day).Add(8*time.Hour + 30*time.Second - time.Duration(days)*day)
	back := now().Time().Sub(morning).Milliseconds()
	storetest.Foreign(s, s.d.cfg.Database.Path, fmt.Sprintf(`UPDATE send_job SET created_at = created_at - %[1]d,
		started_at = started_at - %[1]d, finished_at = finished_at - %[1]d, due_at = due_at - %[1]d WHERE no = %[2]d;
		UPDATE recipient SET finished_at = finished_at - %[1]d WHERE job_no = %[2]d`,
		back, j.No))()
	s.engage(&j, core.Instant(int64(now())-back))
	return c
}

// engage lets some of the subscribers open a campaign and follow its links, most of them in the first hours.
func (s *shop) engage(j *core.SendJob, sent core.Instant) {
	s.Helper()
	links, err := s.d.store.KeepLinks(s.Context(), j.No, []string{
		"https://linden.example/how", "https://linden.example/shop", "https://linden.example/market",
	})
	s.d.Must(err)
	chance := rand.New(rand.NewPCG(uint64(j.No), 7))
	var all []core.Engagement
	for seq := range int64(486) {
		if chance.Float64() > 0.46 {
			continue
		}
		hour := min(47, chance.ExpFloat64()*7)
		at := core.Instant(int64(sent) + int64(hour*float64(time.Hour.Milliseconds())))
		all = append(all, core.Engagement{JobNo: j.No, Seq: seq + 1, At: at, Last: at, Times: 1})
		if chance.Float64() < 0.3 {
			link := links[min(int(chance.ExpFloat64()), len(links)-1)]
			at += core.Instant(time.Minute.Milliseconds())
			all = append(all, core.Engagement{JobNo: j.No, Seq: seq + 1, LinkNo: link, At: at, Last: at, Times: 1})
		}
	}
	_, err = s.d.store.AddEngagements(s.Context(), all)
	s.d.Must(err)
}

// grow records a list's subscribers and unsubscribes for the days before.
func (s *shop) grow(list string, readers, left int) {
	s.Helper()
	today := int64(now()) / (24 * time.Hour).Milliseconds()
	chance := rand.New(rand.NewPCG(1, 1))
	query := ""
	for day := today - 1; day > today-60; day-- {
		readers -= chance.IntN(1 + readers/50)
		left -= chance.IntN(6) / 5
		query += fmt.Sprintf("INSERT OR REPLACE INTO list_count (list_id, day, active, unsubscribed, mailable) "+
			"VALUES ('%s', %d, %d, %d, %d);", list, day, readers, max(0, left), readers)
	}
	storetest.Foreign(s, s.d.cfg.Database.Path, query)()
}
