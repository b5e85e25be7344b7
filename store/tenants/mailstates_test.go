package tenants

import (
	"strconv"
	"testing"
)

func TestMailStatesInStatementsAreThoseOfTheCode(t *testing.T) {
	for state, text := range map[int]string{
		MailQueued: SQLMailQueued, mailSent: SQLMailSent, mailFailed: SQLMailFailed, MailLeftOut: SQLMailLeftOut,
	} {
		if text != strconv.Itoa(state) {
			t.Errorf("the state %d of a mail is %q in statements", state, text)
		}
	}
}
