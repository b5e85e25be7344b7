package admin

import (
	"bytes"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// TestListsSayWhatWentToAFolder checks that the lists of jobs and campaigns mark those that were saved to a folder and
// reached no one.
func TestListsSayWhatWentToAFolder(t *testing.T) {
	s := storetest.Open(t)
	seed := storetest.Seed(t, s)
	weekly := seed.NewList()
	seed.Readers(weekly, 1)
	c := seed.NewCampaign(weekly)
	draft, err := s.Draft(t.Context(), &c, 0, markup.CampaignParts, seed.Time())
	seed.Must(err)
	j := seed.Finish(seed.SendDraft(&draft))
	seed.Must(campaigns.SetJobTransport(t.Context(), s.DB, j.No, core.TransportFolder))
	c, err = s.Campaign(t.Context(), c.ID)
	seed.Must(err)
	row, err := campaignRowOf(t.Context(), s, &c)
	seed.Must(err)
	var out bytes.Buffer
	seed.Must(cli.List(cli.Printer{Out: &out}, []campaignRow{row}, campaignColumns...))
	job, err := s.JobView(t.Context(), j.ID)
	seed.Must(err)
	seed.Must(cli.List(cli.Printer{Out: &out}, []core.JobView{job}, jobColumns...))
	if n := strings.Count(out.String(), core.TransportFolder+" "); n != 2 {
		t.Error(out.String())
	}
}
