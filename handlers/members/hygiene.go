package members

import (
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/people"
)

// hygieneBudget is the maximum time that a request spends reading a list. Proxies time out after 30 s.
const hygieneBudget = 3 * time.Second

// hygieneQuery holds the number of months after which people count as inactive.
type hygieneQuery struct {
	Months *int `query:"months" min:"3" max:"12"`
}

// CheckInput returns an error if the number of months is too small or too large.
func (in *hygieneQuery) CheckInput() error { return checkMonths(in.Months) }

func checkMonths(months *int) error {
	if months != nil && (*months < core.MinSilence || *months > core.MaxSilence) {
		return core.Invalidf("months", "months must be from %d to %d.", core.MinSilence, core.MaxSilence)
	}
	return nil
}

// monthsOf returns the number of months of inactivity, or the default if months is nil.
func monthsOf(months *int) int {
	if months == nil {
		return core.MaxSilence
	}
	return *months
}

// hygiene returns the numbers of people on a list who can't be reached or may be inactive.
func (a listExtras) hygiene(c *web.Call, in hygieneQuery) (core.Hygiene, error) {
	return a.store.ListHygiene(c, c.ID(), monthsOf(in.Months), c.Now)
}

// askInput is the body of POST /api/admin/newsletter-lists/{id}/ask-again.
type askInput struct {
	Who    string `json:"who" is:"required" enum:"unconfirmed|silent" about:"unconfirmed: people who haven't confirmed; silent: inactive people, see months"`
	Months *int   `json:"months" min:"3" max:"12"`
	After  string `json:"after" is:"uuid" about:"next of the previous response; absent in the first request"`
}

// CheckInput returns an error if the number of months is too small or too large.
func (in *askInput) CheckInput() error { return checkMonths(in.Months) }

// askAnswer holds the number of people who were asked.
type askAnswer struct {
	Asked int64  `json:"asked" about:"Number of people who get an email"`
	Next  string `json:"next,omitempty" about:"after of the next request; absent: everyone was asked"`
}

// askAgain emails people who never confirmed or are inactive, to ask whether they want a list's emails.
func (a listExtras) askAgain(c *web.Call, in askInput) (r askAnswer, err error) {
	if err := a.turn.Take(c); err != nil {
		return r, err
	}
	defer a.turn.End()
	r.Asked, r.Next, err = a.store.AskAgain(c, people.AskAgain{
		ListID: c.ID(), Who: in.Who, Months: monthsOf(in.Months), After: in.After,
		Actor: web.Actor(c), Budget: hygieneBudget,
	}, c.Now)
	return r, err
}

// silentAnswer holds the number of people who were unsubscribed.
type silentAnswer struct {
	Unsubscribed int64 `json:"unsubscribed" about:"Number of people who were unsubscribed"`
	More         bool  `json:"more" about:"Whether to send the request again for the rest"`
}

// unsubscribeSilent unsubscribes people who were asked whether they want the emails and haven't answered.
func (a listExtras) unsubscribeSilent(c *web.Call, id string) (r silentAnswer, err error) {
	r.Unsubscribed, r.More, err = a.store.UnsubscribeSilent(c, id, web.Actor(c), hygieneBudget, c.Now)
	return r, err
}

// removedAnswer holds the number of people who were removed.
type removedAnswer struct {
	Removed int64 `json:"removed" about:"Number of people who were removed"`
	More    bool  `json:"more" about:"Whether to send the request again for the rest"`
}

// removeUnconfirmed removes people who never confirmed and no longer have a valid confirmation link.
func (a listExtras) removeUnconfirmed(c *web.Call, id string) (r removedAnswer, err error) {
	r.Removed, r.More, err = a.store.RemoveUnconfirmed(c, id, web.Actor(c), hygieneBudget, c.Now)
	return r, err
}
