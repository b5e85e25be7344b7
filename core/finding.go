package core

// Finding is the result of one check of the doctor command.
type Finding struct {
	Check  string `json:"check"`
	Level  string `json:"level" enum:"ok|warning|fault"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// The levels of a finding.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelFault   = "fault"
)
