package page

// pollWords holds the strings of poll pages in one language.
type pollWords struct {
	PollAs           string `json:"poll_as"`    // {{who}}: the masked address
	PollGiven        string `json:"poll_given"` // {{answer}}: the current answer
	PollButton       string `json:"poll_button"`
	PollChoose       string `json:"poll_choose"`
	PollDone         string `json:"poll_done"`
	PollChange       string `json:"poll_change"`
	PollClosed       string `json:"poll_closed"`
	PollLeft         string `json:"poll_left"`
	PollFixed        string `json:"poll_fixed"`
	PollResults      string `json:"poll_results"`
	PollShare        string `json:"poll_share"`   // {{n}} of {{all}}
	PollAnswers      string `json:"poll_answers"` // {{n}}: the number of people
	PollPreviewTitle string `json:"poll_preview_title"`
	PollPreviewText  string `json:"poll_preview_text"`
}
