package handlers

import "newsletterd/core"

// reviewWords are those of the page of a review.
type reviewWords struct {
	ReviewTitle      string `json:"review_title"`
	ReviewAsks       string `json:"review_asks"`
	ReviewSubject    string `json:"review_subject"`
	ReviewFrom       string `json:"review_from"`
	ReviewTo         string `json:"review_to"`
	ReviewReaders    string `json:"review_readers"`
	ReviewAtLeast    string `json:"review_at_least"`
	ReviewBack       string `json:"review_back"`
	ReviewWanted     string `json:"review_wanted"`
	ReviewPassed     string `json:"review_passed"`
	ReviewLook       string `json:"review_look"`
	ReviewApprove    string `json:"review_approve"`
	ReviewSend       string `json:"review_send"`
	ReviewReject     string `json:"review_reject"`
	ReviewNote       string `json:"review_note"`
	ReviewNotYou     string `json:"review_not_you"`
	ReviewChanged    string `json:"review_changed"`
	ReviewFaulty     string `json:"review_faulty"`
	ReviewDone       string `json:"review_done"`
	ReviewApproved   string `json:"review_approved"`
	ReviewSent       string `json:"review_sent"`
	ReviewRejected   string `json:"review_rejected"`
	ReviewIsDraft    string `json:"review_is_draft"`
	ReviewIsApproved string `json:"review_is_approved"`
	ReviewIsOver     string `json:"review_is_over"`
}

// reviewState says in words how far a campaign is that is not in review; empty for one that is.
func (w *reviewWords) reviewState(s core.CampaignState) string {
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
