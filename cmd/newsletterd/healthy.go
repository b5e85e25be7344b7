package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
)

// healthTimeout is the timeout for the request. The daemon responds within a second, even if part of it hangs.
const healthTimeout = 5 * time.Second

// health is a daemon's response to GET /healthz.
type health struct {
	Code     int      `json:"-"`
	Status   string   `json:"status"`
	Database string   `json:"database,omitempty"`
	Sessions string   `json:"session_store,omitempty"`
	Replica  string   `json:"replica,omitempty"`
	Degraded []string `json:"degraded,omitempty"`
	Error    string   `json:"error,omitempty"`
}

func (p *program) healthyCommand() *cli.Command {
	return &cli.Command{
		Name: "healthy", Usage: "check if the running daemon is healthy",
		Description: `Requests /healthz at the configured listen address and prints the response.
Exits with 0 if the daemon is healthy, even while the disk is nearly full
("degraded"), and with 1 otherwise. It doesn't open the database, so
containers and cron can run it often:

   HEALTHCHECK CMD ["/newsletterd", "healthy"]
   */5 * * * * newsletterd healthy --config /var/lib/newsletterd/newsletterd.toml > /dev/null`,
		Action: func(c *cli.Context) error {
			cfg, err := p.Config(c)
			if err != nil {
				return err
			}
			h, err := askHealth(c.Context, cfg)
			if err != nil {
				return fmt.Errorf("the daemon at %s doesn't respond: %w", cfg.Server.Listen, err)
			}
			if out := p.Printer(c); out.JSON {
				err = out.Value(h)
			} else if h.Code == http.StatusOK {
				_, err = fmt.Fprintln(p.Out, h)
			}
			if err == nil && h.Code != http.StatusOK {
				err = fmt.Errorf("the daemon isn't healthy: %s", h)
			}
			return err
		},
	}
}

// String returns the response on one line: the status, and each part that is not ok.
func (h health) String() string {
	line := h.Status
	if line == "" {
		line = fmt.Sprintf("%d %s", h.Code, http.StatusText(h.Code))
	}
	if len(h.Degraded) > 0 {
		line += ": " + strings.Join(h.Degraded, ", ")
	}
	for _, part := range [][2]string{
		{"database", h.Database}, {"session store", h.Sessions}, {"replica", h.Replica},
	} {
		if part[1] != "" && part[1] != "ok" {
			line += ", " + part[0] + " " + strings.ReplaceAll(part[1], "_", " ")
		}
	}
	return line
}

// askHealth requests the health of the daemon that runs with the given configuration.
func askHealth(ctx context.Context, cfg *config.Config) (h health, err error) {
	scheme := "http://"
	if cfg.HTTPS() {
		scheme = "https://"
	}
	client := http.Client{Timeout: healthTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: loopName}, // doctor checks the certificate
	}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+reachable(cfg.Server.Listen)+"/healthz", http.NoBody)
	if err != nil {
		return h, err
	}
	res, err := client.Do(req)
	if err != nil {
		return h, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err == nil {
		_ = json.Unmarshal(body, &h) // another program may have responded; if so, the status is enough
	}
	h.Code = res.StatusCode
	return h, err
}
