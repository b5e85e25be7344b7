package demo

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// subscribeReaders acts like visitors to a website: it submits the form, follows the link in the email and presses the
// button.
func (d *run) subscribeReaders(ctx context.Context) error {
	d.head(fmt.Sprintf("%d visitors sign up over HTTP and confirm with the link in their email", subscribed))
	pending, active := 0, 0
	for i := range subscribed {
		var sub struct{ Status string }
		err := d.daemon.post(ctx, "/api/newsletter/subscribe", map[string]any{
			"list_id": d.list, "email": subscribedReader(i), "source": "demo form",
			"preferences": map[string]string{"first_name": fmt.Sprintf("Visitor %d", i+1)},
		}, &sub)
		if err != nil {
			return err
		}
		if sub.Status == "pending" {
			pending++
		}
	}
	d.say("%d are pending; each gets an email", pending)
	for i := range subscribed {
		link, err := d.confirmLink(ctx, subscribedReader(i))
		if err != nil {
			return err
		}
		if i == 0 {
			d.say("link in the first email: %s…", link[:min(len(link), len(d.daemon.base)+24)])
		}
		ok, err := d.press(ctx, link)
		if err != nil {
			return err
		}
		if ok {
			active++
		}
	}
	d.say("%d have confirmed", active)
	d.checks.equal("visitors who confirmed", active, subscribed)
	return d.settle(ctx)
}

// confirmLink waits for the confirmation email to an address and returns its link.
func (d *run) confirmLink(ctx context.Context, to string) (link string, err error) {
	err = until(ctx, func() (bool, error) {
		mails, err := d.mailbox.of(to)
		for _, m := range mails {
			if link = m.link(d.daemon.base + "/confirm?"); link != "" {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		return "", fmt.Errorf("no email with a confirmation link for %s: %w", to, err)
	}
	return link, nil
}

// press opens a link and submits the form on its page.
func (d *run) press(ctx context.Context, link string) (ok bool, err error) {
	u, err := url.Parse(link)
	if err != nil {
		return false, err
	}
	page, err := d.daemon.page(ctx, link, nil)
	if err != nil {
		return false, err
	}
	if !strings.Contains(page, "<form") {
		return false, fmt.Errorf("the page of %s has no button", u.Path)
	}
	_, err = d.daemon.page(ctx, d.daemon.base+u.Path, u.Query())
	return err == nil, err
}

// subscribers returns all addresses that must receive the next job.
func (d *run) subscribers() []string {
	var all []string
	for i := range imported {
		all = append(all, importedReader(i))
	}
	for i := range subscribed {
		all = append(all, subscribedReader(i))
	}
	return all
}

func (d *run) firstJob(ctx context.Context) error {
	d.head("Send a newsletter to all, each with a personal line")
	return d.sendJob(ctx, "First issue", d.subscribers())
}

// leave unsubscribes one subscriber with a one-click request, like an email program (RFC 8058).
func (d *run) leave(ctx context.Context) error {
	reader := importedReader(7)
	d.head("A subscriber unsubscribes with one click")
	mails, err := d.mailbox.of(reader)
	if err != nil {
		return err
	}
	if len(mails) == 0 {
		return fmt.Errorf("%s got no email", reader)
	}
	m := mails[len(mails)-1]
	link := m.oneClick()
	if link == "" {
		return fmt.Errorf("the email to %s has no one-click List-Unsubscribe", reader)
	}
	if _, err := d.daemon.page(ctx, link, url.Values{"List-Unsubscribe": {"One-Click"}}); err != nil {
		return err
	}
	d.say("%s posts to the List-Unsubscribe URL: unsubscribed, without a page or a login", reader)
	return d.settle(ctx)
}

func (d *run) secondJob(ctx context.Context) error {
	d.head("A second newsletter skips this subscriber")
	return d.sendJob(ctx, "Second issue", without(d.subscribers(), importedReader(7)))
}

// sendJob creates a job, waits for it to end, and checks that the right addresses got its email.
func (d *run) sendJob(ctx context.Context, subject string, want []string) error {
	var job struct {
		ID string `json:"send_job_id"`
	}
	err := d.daemon.post(ctx, "/api/send-jobs", map[string]any{
		"list_id": d.list, "name": subject, "subject": subject + ` for {{preferences.first_name | default: "you"}}`,
		"body_text": "Hello {{preferences.first_name}},\n\nthis is our " + strings.ToLower(subject) + ".\n",
		"body_html": "<p>Hello <b>{{preferences.first_name}}</b>,</p><p>this is our " + strings.ToLower(subject) + ".</p>",
		"tracking":  map[string]bool{"open": false, "click": false},
	}, &job)
	if err != nil {
		return err
	}
	d.say("job %s", job.ID)
	var state jobState
	err = until(ctx, func() (bool, error) {
		err := d.daemon.get(ctx, "/api/send-jobs/"+job.ID, &state)
		return err == nil && slices.Contains([]string{"completed", "failed", "cancelled"}, state.Status), err
	})
	if err != nil {
		return fmt.Errorf("job %s is %s: %w", job.ID, state.Status, err)
	}
	if state.Status != "completed" {
		return fmt.Errorf("job %s is %s: %s", job.ID, state.Status, state.FailureReason)
	}
	stats := state.Stats
	d.say("completed: %d recipients, %d sent, %d skipped, %d failed", stats.Recipients, stats.Sent, stats.Skipped,
		stats.Failed)
	d.checks.equal(subject+": recipients", stats.Recipients, len(want))
	d.checks.equal(subject+": sent", stats.Sent, len(want))
	return d.compare(subject, want)
}

type jobState struct {
	Status        string
	FailureReason string `json:"failure_reason"`
	Stats         struct{ Recipients, Sent, Skipped, Failed int }
}

// compare reads every email of a job as its recipient would, and records how many are correct.
func (d *run) compare(subject string, want []string) error {
	mails, err := d.mailbox.all()
	if err != nil {
		return err
	}
	got, personal, headers := map[string]int{}, 0, 0
	for _, m := range mails {
		if !strings.HasPrefix(m.subject, subject) {
			continue
		}
		got[m.to]++
		if name := strings.TrimPrefix(m.subject, subject+" for "); name != "" && strings.Contains(m.text, "Hello "+name+",") {
			personal++
		}
		if m.oneClick() != "" && m.header.Get("List-Id") != "" && m.link("http") != "" {
			headers++
		}
	}
	once := 0
	for _, to := range want {
		if got[to] == 1 {
			once++
		}
		delete(got, to)
	}
	d.checks.equal(subject+": subscribers with exactly one email", once, len(want))
	d.checks.equal(subject+": emails to anyone else", len(got), 0)
	d.checks.equal(subject+": emails with the subscriber's name in subject and text", personal, len(want))
	d.checks.equal(subject+": emails with one-click unsubscribe", headers, len(want))
	return nil
}
