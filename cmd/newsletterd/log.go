package main

import (
	"io"
	"log/slog"
	"regexp"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// newLog creates the logger according to the [log] section. By default, it writes text to a terminal and JSON
// elsewhere.
func newLog(c config.Log, w io.Writer) *slog.Logger {
	mask := masker{pii: c.PII}
	o := &slog.HandlerOptions{Level: logLevels[c.Level], ReplaceAttr: mask.attr}
	if c.Format == "text" || c.Format == "auto" && cli.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// masker masks secrets in every log line. The program doesn't log tokens, passwords or secrets, but they could be part
// of an error message.
type masker struct{ pii bool }

var secretNames = map[string]bool{
	"password": true, "secret": true, "token": true, "authorization": true, "cookie": true, "code": true,
	"access_token": true, "refresh_token": true, "id_token": true, "confirm_token": true, "unsubscribe_token": true,
	"client_secret": true, "code_verifier": true, "key": true,
}

var (
	secretParam = regexp.MustCompile(`(?i)\b((?:[a-z_]*token|code|code_verifier|password|[a-z_]*secret)=)[^&\s"]+`)
	secretWord  = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+|(?i:bearer|basic) [A-Za-z0-9._~+/=-]{8,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9._-]+`)
)

func (m masker) attr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return a
	}
	if secretNames[strings.ToLower(a.Key)] {
		return slog.String(a.Key, config.Mask)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(m.text(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case core.Email:
			a.Value = slog.StringValue(m.text(string(v)))
		case error:
			a.Value = slog.StringValue(m.text(v.Error()))
		}
	}
	return a
}

func (m masker) text(s string) string {
	if strings.IndexByte(s, '=') >= 0 {
		s = secretParam.ReplaceAllString(s, "${1}"+config.Mask)
	}
	// Search for words first: that costs much less than the regular expression, which has no fixed start.
	if len(s) > 12 && (strings.Contains(s, " ") || strings.Contains(s, "eyJ") || strings.Contains(s, "whsec_")) {
		s = secretWord.ReplaceAllString(s, config.Mask)
	}
	if !m.pii {
		s = core.MaskAddresses(s)
	}
	return s
}
