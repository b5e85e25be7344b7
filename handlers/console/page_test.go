package console

import "testing"

func TestEveryPageCanBeParsed(t *testing.T) {
	if err := templates.Check(); err != nil {
		t.Error(err)
	}
}
