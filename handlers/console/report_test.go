package console

import (
	"testing"

	"newsletterd/core"
)

// A mailing that was taken back, and then sent, has the figures of what was sent.
func TestSumOfAMailingThatWasTakenBack(t *testing.T) {
	back := jobRow{JobView: core.JobView{Status: core.JobCancelled, Stats: core.Stats{Opens: &core.OpenFigures{}}}}
	people, none := int64(1), int64(0)
	opens := core.OpenFigures{Measured: true, People: &people, CantTell: &none, Scanners: &none}
	sent := jobRow{JobView: core.JobView{
		Status: core.JobCompleted, Stats: core.Stats{Recipients: 2, Sent: 2, Opens: &opens},
	}}
	sum := sumJobs([]jobRow{sent, back})
	if sum.Recipients != 2 || sum.Sent != 2 || !sum.Opens.Measured || *sum.Opens.People != 1 {
		t.Errorf("%+v", sum)
	}
	if sum := sumJobs([]jobRow{back}); sum.Sent != 0 {
		t.Errorf("%+v", sum)
	}
}

// What programs have opened and clicked is said next to what people have.
func TestFiguresOfPrograms(t *testing.T) {
	for lang, want := range map[string][2]string{
		"en": {
			"2 people · +1 by a link scanner",
			"2 people · +1 by a privacy proxy · +3 by link scanners",
		},
		"de": {
			"2 Personen · +1 durch Link-Scanner",
			"2 Personen · +1 durch Privacy-Proxys · +3 durch Link-Scanner",
		},
	} {
		p, s := Page{Lang: lang}, core.Stats{
			Sent:   9,
			Opens:  &core.OpenFigures{Measured: true, People: new(int64(2)), CantTell: new(int64(1)), Scanners: new(int64(3))},
			Clicks: &core.ClickFigures{Measured: true, People: new(int64(2)), Scanners: new(int64(1))},
		}
		got := p.reportStats(&s, 0, &usualFigures{})
		if got[0].Note != want[0] || got[1].Note != want[1] {
			t.Errorf("%s: %q, %q", lang, got[0].Note, got[1].Note)
		}
	}
}
