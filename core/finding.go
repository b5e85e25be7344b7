package core

// Finding is one thing that doctor has looked at.
type Finding struct {
	Check  string `json:"check"`
	Level  string `json:"level" enum:"ok|warning|fault"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// Levels of a finding.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelFault   = "fault"
)
