package console

import (
	"net/http"
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// personMail is an email to a person, with its outcome.
type personMail struct {
	JobID       string               `json:"job_id"`
	ListID      string               `json:"list_id"`
	Name        string               `json:"name"`
	Subject     string               `json:"subject"`
	Status      string               `json:"status"`
	Reason      string               `json:"reason"`
	FinishedAt  core.Instant         `json:"finished_at"`
	Events      []string             `json:"events"`
	Transport   string               `json:"transport"`
	Engagements []core.PersonOpening `json:"engagements"`
	NextTryAt   core.Instant         `json:"next_try_at"`
	GivesUpAt   core.Instant         `json:"gives_up_at"`
}

// has reports whether the event was reported for this email.
func (m *personMail) has(event string) bool { return slices.Contains(m.Events, event) }

// MailBadge returns the badge for the outcome of an email.
func (p *Page) MailBadge(m personMail) Badge {
	if m.saved() {
		return p.sentBadge(m.Transport)
	}
	return p.outcome(m.Status, m.Events)
}

// saved reports whether the email was or may have been saved to a folder.
func (m *personMail) saved() bool {
	return m.Transport != "" && m.Status == core.RecipientStates[core.RecipientSent]
}

// MailWhy returns the reason why an email wasn't sent.
func (p *Page) MailWhy(m personMail) whyNot { return whyNotSent(m.Status, m.Reason) }

// MailTurn describes what to do about an email that wasn't sent. why is the result of MailWhy.
func (p *Page) MailTurn(m personMail, why whyNot) string {
	switch {
	case m.GivesUpAt == 0:
		return p.T(why.Turn)
	case why.What == refusals["4.2.2"].What:
		return p.T("newsletterd retries until {{at}}. You don't need to do anything. If the mailbox stays full, ask "+
			"the person for another address.", "at", p.When(m.GivesUpAt))
	}
	return p.T("newsletterd retries until {{at}}. You don't need to do anything.", "at", p.When(m.GivesUpAt))
}

// MailTook describes which server accepted an email if nothing else is known about its delivery. Otherwise, it returns
// an empty string.
func (p *Page) MailTook(m personMail, to core.Email) string {
	read := m.has("opened") && !m.has("machine_opened") || m.has("clicked") && !m.has("machine_clicked")
	switch {
	case m.saved(), m.Status != core.RecipientStates[core.RecipientSent], read, m.has("complained"), m.has("bounced"):
		return ""
	case m.has("delivered"):
		return p.T("Accepted by {{domain}}", "domain", to.Domain())
	}
	return p.T("Sent to {{domain}} · no bounce so far", "domain", to.Domain())
}

// Unseen reports whether one of the sent emails may not have been seen by the person.
func (d *personData) Unseen(p *Page) bool {
	return slices.ContainsFunc(d.Mails, func(m personMail) bool { return p.MailTook(m, d.Email) != "" })
}

// personQueued is a transactional email to a person.
type personQueued struct {
	core.WhyMail
	Title string // name of its kind
	List  string // name of the list
	Badge Badge
}

// readQueued reads the transactional emails to a person about the tenant's lists, both sent and unsent.
func (p *Page) readQueued(d *personData, lists []core.CountedList) error {
	var why struct {
		Mails []core.WhyMail `json:"mails"`
	}
	if _, err := p.Get("/api/admin/why", p.ofTenant("email", string(d.Email)), &why); err != nil {
		return err
	}
	for _, m := range why.Mails {
		q := personQueued{m, p.queuedTitle(m.Kind), "", p.QueueBadge(m.State)}
		if m.State == "sent" {
			q.Badge = p.statusBadge(m.State)
		}
		for i := range lists {
			if lists[i].ID == m.ListID {
				q.List = lists[i].Name
			}
		}
		d.Queued = append(d.Queued, q)
	}
	return nil
}

// queuedTitle returns the display name of a kind of transactional email.
func (p *Page) queuedTitle(kind string) string {
	switch kind {
	case core.MailConfirm:
		return p.T("Confirmation")
	case core.MailAlreadySubscribed:
		return p.T("Already subscribed")
	case core.MailAskAgain:
		return p.T("Reminder")
	case core.MailUnsubscribed:
		return p.T("Unsubscribed")
	case core.MailPreferences:
		return p.T("Preference page link")
	case core.MailTest:
		return p.T("Test email")
	}
	return kind
}

// personMailPath is the path of the page that shows an email as the person receives it.
const personMailPath = "/people/:id/mails/:job"

// mailTo renders an email for the person in the path, using their current data.
func (p *Page) mailTo() (r personRecord, mail shownMail, err error) {
	if r, err = p.thePerson(); err != nil {
		return r, mail, err
	}
	err = p.Do(http.MethodPost, jobAPI(p.Param("job"), "preview"), map[string]any{"email": r.Email}, &mail)
	return r, mail, err
}

// personMail shows an email as a person receives it.
func (o *Console) personMail(p *Page) (web.HTML, error) {
	r, mail, err := p.mailTo()
	v := View{Within: p.withinPerson(&r.person), Frames: true}
	if err := p.blame(&v, err); err != nil {
		return web.HTML{}, err
	}
	v.Title = mail.Subject
	if v.Fault != "" {
		v.Title = p.T("Email")
	}
	v.State = p.T("Preview for {{email}} with current field values", "email", r.Email)
	return p.Show("person-mail", v)
}

// personMailFrame renders an email as the person receives it, for a frame.
func (o *Console) personMailFrame(p *Page) (web.HTML, error) {
	_, mail, err := p.mailTo()
	if err != nil {
		return web.HTML{}, err
	}
	return p.showMail(mail)
}
