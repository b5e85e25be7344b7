package core

// Finding is the result of one check by the doctor command.
type Finding struct {
	Check  string `json:"check" about:"Name of the check"`
	Level  string `json:"level" enum:"ok|warning|fault" about:"ok, or how serious the problem is"`
	Text   string `json:"text" about:"What the check found"`
	Advice string `json:"advice,omitempty" about:"What to do; absent: nothing"`

	text, advice Sentence
}

// NewFinding returns a finding whose text and advice can be translated (see Sentences). A zero advice means none.
func NewFinding(check, level string, text, advice Sentence) Finding {
	return Finding{check, level, text.Text, advice.Text, text, advice}
}

// Sentences returns the text and the advice in translatable form. If NewFinding did not create the finding, they
// contain no separate values.
func (f *Finding) Sentences() (text, advice Sentence) {
	if f.text.Text != f.Text || f.advice.Text != f.Advice {
		return Sentence{Text: f.Text}, Sentence{Text: f.Advice}
	}
	return f.text, f.advice
}

// The levels of a finding.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelFault   = "fault"
)
