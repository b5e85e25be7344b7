package terminal

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
)

// Message returns the message of an error for a person at a terminal. It leaves out the code of a core.Error.
func Message(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	ce, ok := errors.AsType[*core.Error](err)
	if !ok || ce.Kind == core.Internal || ce.Message == "" {
		return err.Error()
	}
	if ce.Kind == core.Unavailable && ce.Err != nil { // the cause helps more than the advice to try again
		return strings.Replace(err.Error(), ce.Error(), ce.Err.Error(), 1)
	}
	s := ce.Message
	if ce.Field != "" && !strings.Contains(s, ce.Field) {
		s += " (" + ce.Field + ")"
	}
	return s
}
