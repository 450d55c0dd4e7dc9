# The image of a fleet worker, with the CLI beside it. Agents that use stdio MCP
# servers or the shell need those programs in the image: build yours FROM this one.
FROM golang:1.26.8@sha256:0f063af2d465d8dcae54cce04278ada488b96f77b42449c8d071e47d016cc65a AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./worker ./starter

FROM alpine:3.22.4@sha256:310c62b5e7ca5b08167e4384c68db0fd2905dd9c7493756d356e893909057601
RUN apk add --no-cache ca-certificates tzdata && adduser -D -u 10001 inquest && install -d -o inquest /data
COPY --from=build /out/ /usr/local/bin/
USER inquest
WORKDIR /data
ENTRYPOINT ["worker"]
