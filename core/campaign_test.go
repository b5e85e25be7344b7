package core

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const campaignNow = Instant(1_800_000_000_000)

// TestWhatCampaignsMayDo checks which changes each state of a campaign allows.
func TestWhatCampaignsMayDo(t *testing.T) {
	f := CampaignFields{Subject: "News"}
	changes := map[string]func(*Campaign) error{
		"edit":    func(c *Campaign) error { return c.Edited(&f, "ann", campaignNow) },
		"review":  func(c *Campaign) error { return c.AskReview(0, "", "ann") },
		"reject":  func(c *Campaign) error { return c.Reject("", "pia", campaignNow) },
		"approve": func(c *Campaign) error { return c.Approve(c.Version, "copy", "pia", campaignNow) },
		"send":    func(c *Campaign) error { return c.MaySend(c.Version) },
		"archive": (*Campaign).Archive,
	}
	for state, allowed := range map[CampaignState]string{
		CampaignDraft:     "edit review approve send archive",
		CampaignInReview:  "edit review reject approve send",
		CampaignApproved:  "edit reject send",
		CampaignScheduled: "",
		CampaignSending:   "",
		CampaignSent:      "archive",
		CampaignArchived:  "",
	} {
		for name, change := range changes {
			c := Campaign{State: state, Version: 3, ApprovedVersion: 3, CopyID: "copy", JobNo: 1}
			err := change(&c)
			may := strings.Contains(allowed, name)
			if (err == nil) != may || err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("%s of one that is %s: %v", name, state, err)
			}
			if err != nil && c.State != state {
				t.Errorf("%s of one that is %s was refused, and it is %s", name, state, c.State)
			}
		}
	}
}

// TestAnEditEndsTheApproval checks that editing a campaign ends its approval, and that LastApproved keeps the approved
// version.
func TestAnEditEndsTheApproval(t *testing.T) {
	c := NewCampaign("t", &CampaignFields{Name: "May", Subject: "a"}, "ann", campaignNow)
	if err := c.Approve(2, "copy", "pia", campaignNow); !errors.Is(err, ErrConflict) {
		t.Errorf("another version: %v", err)
	}
	err := c.Approve(1, "copy", "pia", campaignNow)
	if err != nil || c.State != CampaignApproved || c.CopyID != "copy" {
		t.Fatalf("%+v %v", c, err)
	}
	if err := c.Edited(&CampaignFields{Subject: "b"}, "bob", campaignNow+1); err != nil {
		t.Fatal(err)
	}
	want := NewCampaign("t", &CampaignFields{Subject: "b"}, "ann", campaignNow)
	want.ID, want.LastApproved, want.UpdatedBy, want.UpdatedAt = c.ID, 1, "bob", campaignNow+1
	want.Writers = Strings{"bob"}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nnot %+v", c, want)
	}
}

// TestWhoIsASecondPerson checks that, if a tenant requires a second person, only a user who has not saved since the
// last approval can approve. Programs never can.
func TestWhoIsASecondPerson(t *testing.T) {
	c := NewCampaign("t", &CampaignFields{Subject: "a"}, "user:ann", campaignNow)
	edit := func(by string) { _ = c.Edited(&CampaignFields{Subject: by}, by, campaignNow) }
	check := func(when string, second ...string) {
		t.Helper()
		for _, by := range []string{"user:ann", "user:bob", "user:eve", "client:shop", "command:root"} {
			asks, asksNone := Tenant{Approval: ApprovalSecondPerson}, Tenant{Approval: ApprovalNone}
			if err := asks.Accepts(&c, by); (err == nil) != slices.Contains(second, by) {
				t.Errorf("%s, %s: %v", when, by, err)
			}
			if err := asksNone.Accepts(&c, by); err != nil {
				t.Errorf("%s, %s, without a second person: %v", when, by, err)
			}
		}
	}
	check("a draft", "user:bob", "user:eve")
	edit("user:bob")
	edit("user:ann")
	check("two have written", "user:eve")
	if err := c.Approve(1, "copy", "user:eve", campaignNow); err != nil {
		t.Fatal(err)
	}
	check("it is approved", "user:eve")
	edit("user:bob")
	c.Version = 2 // the approved version was not edited
	check("one has written since", "user:ann", "user:eve")
	edit("user:ann")
	check("two have written since", "user:eve")
}

// TestWhichVersionTakesASave checks that saves by one person within half an hour go into one version, unless another
// person viewed the version or it was tested or approved.
func TestWhichVersionTakesASave(t *testing.T) {
	v := CampaignVersion{SavedBy: "ann", BegunAt: campaignNow}
	for name, tt := range map[string]struct {
		change func(*CampaignVersion)
		by     string
		client string
		after  time.Duration
		takes  bool
	}{
		"at once":          {func(*CampaignVersion) {}, "ann", "", 0, true},
		"before its end":   {func(*CampaignVersion) {}, "ann", "", VersionSpan - 1, true},
		"later":            {func(*CampaignVersion) {}, "ann", "", VersionSpan, false},
		"another person":   {func(*CampaignVersion) {}, "bob", "", 0, false},
		"through a client": {func(*CampaignVersion) {}, "ann", "shop", 0, false},
		"it was seen":      {func(v *CampaignVersion) { v.Closed = true }, "ann", "", 0, false},
		"it was approved":  {func(v *CampaignVersion) { v.Kept = true }, "ann", "", 0, false},
	} {
		v := v
		if tt.change(&v); v.TakesSave(tt.by, tt.client, campaignNow.Add(tt.after)) != tt.takes {
			t.Errorf("%s: %v", name, !tt.takes)
		}
	}
}

// TestFieldsOfACopy checks that FieldsOf returns the fields from which a copy was made.
func TestFieldsOfACopy(t *testing.T) {
	for _, f := range []CampaignFields{
		{
			Name: "May", ListIDs: []string{"l"}, Subject: "News", Preheader: "Longer days", Tracking: TrackingPersons,
			Template: json.RawMessage(`{"color":"red","unsubscribe_url":"https://x.example/?t={{unsubscribe_token}}"}`),
			Content:  CampaignContent{Kind: ContentHTML, Source: "<p>x</p>", Text: "x", Layout: "frame"},
		},
		{
			ListIDs: []string{"l"}, Subject: "News", Tracking: TrackingOff,
			Content: CampaignContent{Kind: ContentText, Source: "x"},
		},
	} {
		html, text := f.Content.Source, f.Content.Text
		if f.Content.Kind == ContentText {
			html, text = "", f.Content.Source
		}
		written := f.Copy("t", html, text, campaignNow)
		got, err := json.Marshal(FieldsOf(&written, "l"))
		want, _ := json.Marshal(f)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s %v\nnot %s", got, err, want)
		}
		if f.Preheader != written.Preheader() || f.Content.Layout != written.TemplateName() ||
			(written.UnsubscribeURL != "") != (f.Template != nil) {
			t.Errorf("%+v", written)
		}
	}
}

// TestCampaignsAreComplete checks that missing fields are reported before an approval, and that the campaign's own
// sender takes precedence over the tenant's.
func TestCampaignsAreComplete(t *testing.T) {
	whole := CampaignFields{ListIDs: []string{"l"}, Subject: "News", Content: CampaignContent{Source: "x"}}
	for field, change := range map[string]func(*CampaignFields){
		"":               func(*CampaignFields) {},
		"list_ids":       func(f *CampaignFields) { f.ListIDs = nil },
		"subject":        func(f *CampaignFields) { f.Subject = " " },
		"content.source": func(f *CampaignFields) { f.Content.Source = "\n" },
	} {
		f := whole
		change(&f)
		err := f.Complete()
		fault, _ := errors.AsType[*Error](err)
		if field == "" && err != nil || field != "" && (fault == nil || fault.Field != field) {
			t.Errorf("without %s: %v", field, err)
		}
	}
	frozen := FrozenContent{
		FromName: "Tenant", MailFrom: "a@tenant.example", ReplyTo: "r@tenant.example", Language: "en",
	}
	f := CampaignFields{FromName: "Own", FromEmail: "o@tenant.example", Language: "de"}
	f.Override(&frozen)
	if frozen.FromName != "Own" || frozen.MailFrom != "o@tenant.example" || frozen.ReplyTo != "r@tenant.example" ||
		frozen.Language != "de" {
		t.Errorf("%+v", frozen)
	}
}

// TestSentBackEnds checks that the request for changes ends when the campaign is approved or archived. Withdrawing
// one's own review request is not a request for changes.
func TestSentBackEnds(t *testing.T) {
	const bob, ann = "user:bob", "user:ann"
	back := func(by string) Campaign {
		c := NewCampaign("t", &CampaignFields{Name: "A"}, bob, 1)
		if err := c.AskReview(0, "Please.", bob); err != nil {
			t.Fatal(err)
		}
		if err := c.Reject("Another picture.", by, 5); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := back(ann)
	if v := c.View(); v.Review != nil || v.SentBack == nil ||
		*v.SentBack != (SentBack{By: ann, At: 5, Note: "Another picture."}) {
		t.Errorf("%+v, %+v", v.Review, v.SentBack)
	}
	if err := c.AskReview(0, "", bob); err != nil || c.View().Review.Note != "" || c.View().SentBack != nil {
		t.Errorf("%v, %+v", err, c.View().Review)
	}
	for name, ends := range map[string]func(*Campaign) error{
		"approved": func(c *Campaign) error { return c.Approve(1, "copy", ann, 6) },
		"archived": (*Campaign).Archive,
		"taken back after the sending": func(c *Campaign) error {
			err := errors.Join(c.AskReview(7, "Please.", bob), c.Approve(1, "copy", ann, 6))
			c.Scheduled(1)
			c.State = CampaignDraft
			return err
		},
	} {
		c := back(ann)
		if err := ends(&c); err != nil || c.View().SentBack != nil || c.View().Review != nil {
			t.Errorf("%s: %v, %+v", name, err, c.View())
		}
	}
	if c := back(bob); c.View().SentBack != nil {
		t.Errorf("taken back: %+v", c.View().SentBack)
	}
}
