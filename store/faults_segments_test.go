package store

import (
	"fmt"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/bulk"
	"newsletterd/store/campaigns"
	"newsletterd/store/imports"
)

// segments creates, queries, sends to and deletes segments.
func (s *story) segments() {
	ctx := s.Context()
	add := func(name, rule string) core.Segment {
		in := core.SegmentInput{Name: &name, Rule: core.RuleText(rule)}
		g, err := core.NewSegment(s.tenant, in, "test", now0)
		must(s.T, err)
		s.op("AddSegment", func() error { return s.AddSegment(ctx, g) })
		return g
	}
	s.tags()
	all := add("All",
		fmt.Sprintf(`{"any": [{"on_list": %q}, {"field": "city", "missing": true}, {"tag": "VIP"}]}`, s.list))
	g := add("Ours", fmt.Sprintf(`{"any": [{"segment": %q}, {"received": %q}]}`, all.ID, s.job.CampaignID))
	s.op("ChangeSegment", func() error {
		return onlyErr(s.ChangeSegment(ctx, all.ID, "test", func(g *core.Segment) error {
			name := g.Name + "!"
			return g.Change(core.SegmentInput{Name: &name}, "test", now0+1)
		}))
	})
	rule, err := g.ParsedRule()
	must(s.T, err)
	q := audience.Question{TenantID: s.tenant, ListIDs: []string{s.list, s.list}, Rule: rule, Now: now0.Add(day)}
	s.op("CountSegment", func() error { return onlyErr(s.CountSegment(ctx, q)) })
	page := core.Page{Limit: 10}
	s.op("PeopleOf", func() error {
		_, _, err := s.PeopleOf(ctx, q, page)
		return err
	})
	found, _, err := s.PeopleOf(ctx, q, page)
	must(s.T, err)
	if len(found) > 0 {
		s.op("WhySegment", func() error {
			_, err := s.WhySegment(ctx, q, found[0].ID)
			return err
		})
	}
	var j core.SendJob
	at := now0.Add(day)
	s.op("AddSendJob", func() (err error) {
		j, _, err = s.AddSendJob(ctx, campaigns.JobRequest{NewJob: core.NewJob{
			ListID: s.list, Subject: "To some", BodyText: "Hello", SegmentID: g.ID,
		}, Caller: core.CommandCaller("u"), CreatedBy: "test"}, at)
		return err
	})
	s.op("StartDueJobs", func() error { return onlyErr(s.StartDueJobs(ctx, at)) })
	s.op("ExpandJob", func() error { return onlyErr(s.ExpandJob(ctx, j.No, at)) })
	s.op("CancelSendJob", func() error { return onlyErr(s.CancelSendJob(ctx, j.ID, at)) })
	s.bulk(rule, at)
	s.op("DeleteSegment", func() error { return s.DeleteSegment(ctx, g.ID, "test", now0+2) })
}

// tags creates tags, gives them to a person, renames and deletes them.
func (s *story) tags() {
	ctx := s.Context()
	for _, name := range []string{"VIP", "Press"} {
		tag, err := core.NewTag(s.tenant, name, now0)
		must(s.T, err)
		s.op("AddTag", func() error { return s.AddTag(ctx, tag, "test") })
		s.op("SetTags", func() error {
			return onlyErr(s.SetTags(ctx, s.tenant, "cleo@example.org", []string{name}, "test", now0))
		})
		s.op("ChangeTags", func() error {
			none := func([]string) []string { return nil }
			return onlyErr(s.ChangeTags(ctx, s.tenant, "nobody@example.org", none, nil, "test", now0))
		})
		s.op("give a tag again", func() error {
			none := func([]string) []string { return nil }
			return onlyErr(s.ChangeTags(ctx, s.tenant, "cleo@example.org", none, []string{name}, "test", now0+1))
		})
		s.op("Tag", func() error { return onlyErr(s.Tag(ctx, tag.ID)) })
		if name == "Press" {
			s.op("RenameTag", func() error { return onlyErr(s.RenameTag(ctx, tag.ID, "Media", "test", now0+1)) })
			s.op("DeleteTag", func() error { return s.DeleteTag(ctx, tag.ID, "test", now0+2) })
		}
	}
	s.op("AllTags", func() error { return onlyErr(s.AllTags(ctx, s.tenant)) })
	s.op("TagsAt", func() error { return onlyErr(s.TagsAt(ctx, s.tenant, "nobody@example.org")) })
}

// bulk starts, runs, cancels and undoes bulk actions.
func (s *story) bulk(rule *core.Rule, at core.Instant) {
	ctx := s.Context()
	sub, _, err := s.AddSubscription(ctx, imports.SubscriptionInput{
		ListID: s.list, Email: "many@example.org", Status: core.SubscriptionActive, Source: "test",
	}, "test", at)
	must(s.T, err)
	tag, err := core.NewTag(s.tenant, "Bulk", now0)
	must(s.T, err)
	s.op("AddTag", func() error { return s.AddTag(ctx, tag, "test") })
	var a core.BulkAction
	steps := func() {
		s.op("BulkStep", func() (err error) {
			for more := true; more && err == nil; {
				more, err = s.BulkStep(ctx, a.ID, at+1)
			}
			return err
		})
	}
	for _, r := range []bulk.Request{
		{Kind: core.BulkUnsubscribe, Rule: rule},
		{Kind: core.BulkUnsubscribe, IDs: []string{sub.ID}},
		{Kind: core.BulkRemove, IDs: []string{sub.ID}},
		{Kind: core.BulkTag, Tag: tag.ID, IDs: []string{sub.ID}},
	} {
		r.ListID, r.Actor = s.list, "test"
		s.op("StartBulk", func() (err error) {
			a, err = s.StartBulk(ctx, r, at)
			return err
		})
		if r.Rule != nil {
			s.op("CancelBulk", func() error { return onlyErr(s.CancelBulk(ctx, a.ID, "test", at)) })
			continue
		}
		steps()
		s.op("UndoBulk", func() error { return onlyErr(s.UndoBulk(ctx, a.ID, "test", at+2)) })
		steps()
	}
	s.op("BulkActions", func() error { return onlyErr(s.BulkActions(ctx, s.list, core.Page{Limit: 10})) })
}
