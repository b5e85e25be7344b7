# One static binary that runs as an unprivileged user, with one volume: /data holds the database, its snapshots and, until a
# relay is configured, the mails. docs/install.md says how to use it.
FROM golang:1.26 AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -ldflags "-s -w -X main.release=$VERSION" -o /newsletterd ./cmd/newsletterd
RUN install -d -m 0700 -o 65532 -g 65532 /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /newsletterd /newsletterd
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
# There is no /tmp: what SQLite sorts on the disk goes to the volume, too.
ENV NEWSLETTERD_SERVER_LISTEN=0.0.0.0:8080 SQLITE_TMPDIR=/data
ENTRYPOINT ["/newsletterd"]
# The container is unhealthy while the daemon can't do its work; /healthz of a standby is 503, too.
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s CMD ["/newsletterd", "healthy"]
CMD ["serve"]
