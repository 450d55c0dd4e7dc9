# The image of a fleet worker, with the CLI beside it. Agents that use stdio MCP
# servers or the shell need those programs in the image: build yours FROM this one.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./worker ./starter

FROM alpine:3.22
RUN apk add --no-cache ca-certificates tzdata && adduser -D -u 10001 inquest && install -d -o inquest /data
COPY --from=build /out/ /usr/local/bin/
USER inquest
WORKDIR /data
ENTRYPOINT ["worker"]
