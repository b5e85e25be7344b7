package handlers

// healthReply is the answer of the health check.
type healthReply struct {
	Status       string `json:"status"`
	Database     string `json:"database"`
	SessionStore string `json:"session_store"`
}

// health answers whether the daemon can do its work.
func (h *Handler) health(c *Call) (healthReply, error) {
	reply := healthReply{"ok", "ok", "ok"}
	if h.draining.Load() {
		reply.Status, c.status = "draining", 503
	}
	return reply, nil
}
