package page

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"newsletterd/core"
)

// reviewWords holds the review page's strings in one language.
type reviewWords struct {
	ReviewTitle       string `json:"review_title"`
	ReviewAsks        string `json:"review_asks"`
	ReviewSubject     string `json:"review_subject"`
	ReviewFrom        string `json:"review_from"`
	ReviewTo          string `json:"review_to"`
	ReviewReaders     string `json:"review_readers"`
	ReviewAtLeast     string `json:"review_at_least"`
	ReviewBack        string `json:"review_back"`
	ReviewWanted      string `json:"review_wanted"`
	ReviewPassed      string `json:"review_passed"`
	ReviewLook        string `json:"review_look"`
	ReviewText        string `json:"review_text"`
	ReviewSome        string `json:"review_some"`
	ReviewApprove     string `json:"review_approve"`
	ReviewApproveOnly string `json:"review_approve_only"`
	ReviewSend        string `json:"review_send"`
	ReviewReject      string `json:"review_reject"`
	ReviewNote        string `json:"review_note"`
	ReviewNotYou      string `json:"review_not_you"`
	ReviewChanged     string `json:"review_changed"`
	ReviewChangedBy   string `json:"review_changed_by"`
	ReviewByCommand   string `json:"review_by_command"`
	ReviewByOther     string `json:"review_by_other"`
	ReviewCampaign    string `json:"review_part_campaign"`
	ReviewTheme       string `json:"review_part_theme"`
	ReviewLayout      string `json:"review_part_layout"`
	ReviewSettings    string `json:"review_part_settings"`
	ReviewLists       string `json:"review_part_lists"`
	ReviewMedia       string `json:"review_part_media"`
	ReviewSegments    string `json:"review_part_segment"`
	ReviewPlan        string `json:"review_part_plan"`
	ReviewProgram     string `json:"review_part_program"`
	ReviewFaulty      string `json:"review_faulty"`
	ReviewDone        string `json:"review_done"`
	ReviewToSend      string `json:"review_to_send"`
	ReviewApproved    string `json:"review_approved"`
	ReviewSent        string `json:"review_sent"`
	ReviewRejected    string `json:"review_rejected"`
	ReviewIsDraft     string `json:"review_is_draft"`
	ReviewIsApproved  string `json:"review_is_approved"`
	ReviewIsOver      string `json:"review_is_over"`

	ReviewReplyTo      string `json:"review_reply_to"`
	ReviewPreheader    string `json:"review_preheader"`
	ReviewAttachments  string `json:"review_attachments"`
	ReviewExcluded     string `json:"review_excluded"`
	ReviewExcludedSent string `json:"review_excluded_sent"`
	ReviewSegment      string `json:"review_segment"`
	ReviewNotSegment   string `json:"review_excluded_segments"`
	ReviewRule         string `json:"review_rule"`
	ReviewOnly         string `json:"review_only"`
	ReviewOnlySame     string `json:"review_only_same"`
	ReviewOnlyJoined   string `json:"review_only_joined"`
	ReviewOnlyUnopened string `json:"review_only_unopened"`
	ReviewPolls        string `json:"review_polls"`
	ReviewPollField    string `json:"review_poll_field"`
	ReviewPollCloses   string `json:"review_poll_closes"`
	ReviewTracking     string `json:"review_tracking"`
	ReviewPersons      string `json:"review_tracks_persons"`
	ReviewConsent      string `json:"review_tracks_consent"`
	ReviewTotals       string `json:"review_tracks_totals"`
	ReviewUTM          string `json:"review_utm"`
	ReviewArchive      string `json:"review_archive"`
	ReviewShown        string `json:"review_archive_shown"`
	ReviewHidden       string `json:"review_archive_hidden"`

	OutdatedTitle string `json:"outdated_title"`
	OutdatedText  string `json:"outdated_text"`
	OutdatedLink  string `json:"outdated_link"`
}

// StateOf describes the state of a campaign that is not in review. For a campaign in review, it returns an empty
// string.
func (w *reviewWords) StateOf(s core.CampaignState) string {
	switch s {
	case core.CampaignInReview:
		return ""
	case core.CampaignDraft:
		return w.ReviewIsDraft
	case core.CampaignApproved:
		return w.ReviewIsApproved
	}
	return w.ReviewIsOver
}

// ChangesOf returns a line for each change in err, a change that was made to a campaign since the reviewer read it. The
// line names the change's author.
func ChangesOf(w *Words, err error, zone *time.Location) (lines []string) {
	fault, ok := errors.AsType[*core.Error](err)
	if !ok {
		return nil
	}
	for i := range fault.Changes {
		one := &fault.Changes[i]
		what := w.reviewPart(one.What)
		switch one.What {
		case core.ChangedTheme, core.ChangedLayout, core.ChangedLists, core.ChangedSegment:
			what = strings.TrimSpace(what + " " + one.Name)
		}
		who := cmp.Or(one.ByName, w.ReviewByOther)
		switch {
		case one.By == "": // the author is unknown, for example with another version of newsletterd
			lines = append(lines, what)
			continue
		case strings.HasPrefix(one.By, "command"):
			who = w.ReviewByCommand
		}
		lines = append(lines, FillIn(w.ReviewChangedBy, "what", what, "who", who, "when", w.When(one.At, zone)))
	}
	return lines
}

func (w *reviewWords) reviewPart(what string) string {
	return map[string]string{
		core.ChangedCampaign: w.ReviewCampaign, core.ChangedTheme: w.ReviewTheme, core.ChangedLayout: w.ReviewLayout,
		core.ChangedSettings: w.ReviewSettings, core.ChangedLists: w.ReviewLists, core.ChangedMedia: w.ReviewMedia,
		core.ChangedSegment: w.ReviewSegments, core.ChangedPlan: w.ReviewPlan, core.ChangedProgram: w.ReviewProgram,
	}[what]
}

// OnlyTo describes which of an earlier campaign's recipients get this one.
func (w *reviewWords) OnlyTo(who string) string {
	switch who {
	case core.FollowJoined:
		return w.ReviewOnlyJoined
	case core.FollowUnopened:
		return w.ReviewOnlyUnopened
	}
	return w.ReviewOnlySame
}

// TracksAs describes the part of a campaign's tracking that its tenant allows, or returns an empty string if there is
// none.
func (w *reviewWords) TracksAs(t *core.Tenant, tracking string) string {
	switch {
	case tracking == core.TrackingOff || t.NoTracking:
		return ""
	case tracking == core.TrackingTotals || t.TotalsOnly:
		return w.ReviewTotals
	case t.TrackingConsent:
		return w.ReviewConsent
	}
	return w.ReviewPersons
}
