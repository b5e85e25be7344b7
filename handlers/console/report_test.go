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
