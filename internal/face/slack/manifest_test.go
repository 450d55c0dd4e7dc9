package slack

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/slack-go/slack"
	"gopkg.in/yaml.v3"
)

// TestManifest reads the app's manifest with the SDK's type and compares it with what the face uses. The scopes are those that
// https://docs.slack.dev/reference/methods names for each method.
func TestManifest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/how-to/slack-manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var content any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(content); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var m slack.Manifest
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	scopes := []string{
		"chat:write",                                       // chat.postMessage, postEphemeral, update, delete
		"channels:history", "groups:history", "im:history", // conversations.replies, history, and the message events
		"files:write", "users:read", "users:read.email", // files.getUploadURLExternal, users.info
		"app_mentions:read", "commands", // the event app_mention, the slash command and the shortcut
	}
	slices.Sort(scopes)
	slices.Sort(m.OAuthConfig.Scopes.Bot)
	if !slices.Equal(m.OAuthConfig.Scopes.Bot, scopes) {
		t.Errorf("scopes: %q, want %q", m.OAuthConfig.Scopes.Bot, scopes)
	}
	events := []string{"app_mention", "message.channels", "message.groups", "message.im"}
	if got := m.Settings.EventSubscriptions.BotEvents; !slices.Equal(got, events) {
		t.Errorf("events: %q", got)
	}
	if all := m.Features.Shortcuts; len(all) != 1 || all[0].CallbackID != callbackInvestigate || all[0].Type != slack.MessageShortcut {
		t.Errorf("shortcuts: %+v", all)
	}
	if all := m.Features.SlashCommands; len(all) != 1 || all[0].Command != "/inquest" {
		t.Errorf("commands: %+v", all)
	}
	if !m.Settings.SocketModeEnabled || !m.Settings.Interactivity.IsEnabled {
		t.Errorf("settings: %+v", m.Settings)
	}
}
