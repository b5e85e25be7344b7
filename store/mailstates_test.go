package store

import (
	"strconv"
	"testing"
)

func TestMailStatesInStatementsAreThoseOfTheCode(t *testing.T) {
	for state, text := range map[int]string{
		mailQueued: sqlMailQueued, mailSent: sqlMailSent, mailFailed: sqlMailFailed, mailLeftOut: sqlMailLeftOut,
	} {
		if text != strconv.Itoa(state) {
			t.Errorf("the state %d of a mail is %q in statements", state, text)
		}
	}
}
