package campaigns

import (
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// correctionRoutes adds the routes for corrections, which web pages show instead of the sent content.
func (r *Room) correctionRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const item = "/api/campaigns/:id"
	read := web.Sent(core.ActionCampaignRead)
	send := web.Sent(core.ActionCampaignSend).Fresh()
	t.Add("GET", item+"/correction", read, web.Send, a.one(web.Path(a.correction)),
		"Show the correction of a sent campaign").Named("getCampaignCorrection")
	t.Add("PUT", item+"/correction", send, web.Send, a.one(web.JSON(a.correct).MaxBody(maxSendJob)).Fails(core.Conflict),
		"Correct the web version of a sent campaign; the sent email is kept").
		Named("correctCampaign").
		Limits(web.OnlyKnown).
		Example(web.Object{"source": "<p>The prices of May.</p>"}).
		Refuses(saidByCampaign...).
		Refuses(
			web.Refused("source", "The placeholders are malformed"),
			web.Refused("text", "The placeholders are malformed, or the kind has no text part"),
			web.Clash("The campaign wasn't sent, or has a different kind"),
		)
	t.Add("DELETE", item+"/correction", send, web.Send, a.one(web.Query(a.takeBack)).Fails(core.Conflict),
		"Remove a correction; pages show the sent version again").Named("takeBackCampaignCorrection").
		Refuses(web.Clash("The campaign wasn't sent"))
}

func (a campaignsAPI) correction(c *web.Call, _ string) (core.Correction, error) {
	return a.Store.Correction(c, a.found(c))
}

// correctionInput is the corrected content of a campaign. Absent fields keep the sent content.
type correctionInput struct {
	Subject *string `json:"subject" like:"line" max:"998" about:"Defaults to the sent value"`
	Source  *string `json:"source" max:"1048576" about:"Content in the sent kind; defaults to the sent content"`
	Text    *string `json:"text" max:"1048576" about:"Text part for kind html; defaults to the sent text"`
}

// JudgeKeys rejects unknown keys.
func (in *correctionInput) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[correctionInput](), unknown)
}

func (in *correctionInput) change(f *core.CampaignFields) error {
	for _, t := range []struct{ to, from *string }{
		{&f.Subject, in.Subject}, {&f.Content.Source, in.Source}, {&f.Content.Text, in.Text},
	} {
		if t.from != nil {
			*t.to = *t.from
		}
	}
	if err := f.Check(); err != nil {
		return err
	}
	return f.Complete()
}

// ofCorrection replaces the campaign's field name in err with the correction's: prefix and the field without
// "content.".
func ofCorrection(err error, prefix string) error {
	fault, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err
	}
	switch field := strings.TrimPrefix(fault.Field, "content."); field {
	case "subject", "source", "text":
		return fault.On(prefix + field)
	}
	return err
}

// correct stores a correction, which web pages show instead of the sent content.
func (a campaignsAPI) correct(c *web.Call, in correctionInput) (core.Correction, error) {
	r, err := a.drafts(c).Correction(c, a.found(c), in.change, web.Actor(c), c.Now)
	if err != nil {
		return core.Correction{}, ofCorrection(err, "")
	}
	return a.Store.CorrectCampaign(c, r)
}

// takeBack removes the correction, so that web pages show the sent content again.
func (a campaignsAPI) takeBack(c *web.Call, _ struct{}) (web.None, error) {
	same := func(*core.CampaignFields) error { return nil }
	r, err := a.drafts(c).Correction(c, a.found(c), same, web.Actor(c), c.Now)
	if err != nil {
		return web.None{}, err
	}
	r.Copy = nil
	_, err = a.Store.CorrectCampaign(c, r)
	return web.None{}, err
}
