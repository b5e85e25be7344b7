package web

import (
	"net/http"
	"time"

	"github.com/rs/cors"
)

// corsAge is how long a browser may cache a preflight response.
const corsAge = 10 * time.Minute

// CORS lets scripts from other origins read the responses if allowed returns true for the origin. Credentials are never
// allowed. headers lists the request headers that scripts may send in addition to Content-Type.
func (e Endpoint) CORS(allowed func(r *http.Request, origin string) bool, headers ...string) Endpoint {
	e = e.copied()
	e.cors = cors.New(cors.Options{
		AllowOriginVaryRequestFunc: func(r *http.Request, origin string) (bool, []string) { return allowed(r, origin), nil },
		AllowedMethods:             []string{http.MethodGet, http.MethodPost},
		AllowedHeaders:             append([]string{"Content-Type"}, headers...),
		ExposedHeaders:             []string{"WWW-Authenticate", "Retry-After", "X-Request-Id"},
		MaxAge:                     int(corsAge / time.Second),
		OptionsSuccessStatus:       http.StatusNoContent,
	})
	return e
}

// preflight responds to a CORS preflight request (Fetch standard) and reports whether it did. It returns false if the
// route is not open to other origins.
func (h *Handler) preflight(c *Call, path string) (ok bool) {
	method := c.Request.Header.Get("Access-Control-Request-Method")
	if c.Request.Method != http.MethodOptions || method == "" || c.Request.Header.Get("Origin") == "" {
		return false
	}
	r, _ := h.router.find(method, path)
	if r == nil || r.Do.cors == nil {
		return false
	}
	c.route = r
	r.Do.cors.HandlerFunc(c.w, c.Request)
	return true
}

// allowOrigin adds the CORS headers to a response.
func (c *Call) allowOrigin() {
	if c.route.Do.cors != nil && c.Request.Method != http.MethodOptions {
		c.route.Do.cors.HandlerFunc(c.w, c.Request)
	}
}
