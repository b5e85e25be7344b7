package campaigns

import (
	"cmp"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
)

// previewFor holds the address of one of the job's subscribers, from the body or the query. Without an address, the
// email is rendered for a subscriber with no details.
type previewFor struct {
	Email core.Email `json:"email"`
	Query core.Email `query:"email"`
}

func (in *previewFor) CheckInput() error {
	if in.Email != "" && in.Query != "" && in.Email.Key() != in.Query.Key() {
		return core.Invalidf("email",
			"email is set in the body and in the query, with different values. Send it once.")
	}
	in.Email = cmp.Or(in.Email, in.Query)
	return nil
}

// preview renders a job's email. Rendering it for a subscriber requires the right to read subscribers' data.
func (a sendjobs) preview(c *web.Call, in previewFor) (out drafts.Preview, err error) {
	if in.Email != "" && !c.Caller.May(core.ActionPeopleRead, c.Tenant) {
		return out, core.Lacking(core.ActionPeopleRead)
	}
	bulk, r, err := a.trial(c).Preview(c, c.ID(), in.Email, c.Now)
	if err != nil {
		return out, err
	}
	out.Subject, out.Text, out.HTML, err = bulk.Parts(&r)
	return out, err
}

func (a sendjobs) trial(c *web.Call) drafts.Trial {
	return drafts.Trial{Store: a.Store, Sealer: a.Sealer, Origin: c.PublicURL()}
}

// testTo holds the address for a test email.
type testTo struct {
	Email core.Email `json:"email" is:"required"`
}

// queued is the response after an email was queued.
type queued struct {
	Status string `json:"status" enum:"queued" about:"Always queued"`
}

// test sends a test email. Callers without the right to send tests to anyone can send them only to the test group and
// the team.
func (a sendjobs) test(c *web.Call, in testTo) (out queued, err error) {
	if err := mayTest(c, a.Store, in.Email); err != nil {
		return out, err
	}
	tenantID, err := a.trial(c).Test(c, c.ID(), in.Email, c.Now)
	if err != nil {
		return out, err
	}
	c.Tenant = tenantID
	return queued{"queued"}, nil
}
