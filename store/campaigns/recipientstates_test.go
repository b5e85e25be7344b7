package campaigns

import (
	"strconv"
	"testing"

	"newsletterd/core"
)

func TestStatesInStatementsAreThoseOfTheCode(t *testing.T) {
	for state, text := range map[int]string{
		core.RecipientQueued: sqlRecipientQueued, core.RecipientDeferred: sqlRecipientDeferred,
		core.RecipientSent:   SqlRecipientSent,
		core.RecipientFailed: sqlRecipientFailed, core.RecipientSkipped: sqlRecipientSkipped,
	} {
		if text != strconv.Itoa(state) {
			t.Errorf("the state %s of a recipient is %q in statements", core.RecipientStates[state], text)
		}
	}
}
