package workspacetest

import (
	"errors"
	"fmt"

	"github.com/slack-go/slack"
)

// CheckBlocks checks the limits that https://docs.slack.dev/reference/block-kit documents, in characters.
func CheckBlocks(blocks []slack.Block) error {
	if len(blocks) > 50 {
		return fmt.Errorf("%d blocks", len(blocks))
	}
	var err error
	within := func(what, text string, most int) {
		if n := len([]rune(text)); n == 0 || n > most {
			err = errors.Join(err, fmt.Errorf("%s of %d characters", what, n))
		}
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *slack.SectionBlock:
			within("a section", b.Text.Text, 3000)
		case *slack.ContextBlock:
			if n := len(b.ContextElements.Elements); n == 0 || n > 10 {
				err = errors.Join(err, fmt.Errorf("a context of %d elements", n))
			}
			for _, e := range b.ContextElements.Elements {
				if text, is := e.(*slack.TextBlockObject); is {
					within("a text in a context", text.Text, 3000)
				}
			}
		case *slack.ActionBlock:
			if n := len(b.Elements.ElementSet); n == 0 || n > 25 {
				err = errors.Join(err, fmt.Errorf("%d actions", n))
			}
			for _, e := range b.Elements.ElementSet {
				if button, is := e.(*slack.ButtonBlockElement); is {
					within("the value of a button", button.Value, 2000)
					within("the text of a button", button.Text.Text, 75)
					within("the ID of a button", button.ActionID, 255)
				}
			}
		default:
			err = errors.Join(err, fmt.Errorf("a block of the type %s, whose limits are unknown here", b.BlockType()))
		}
	}
	return err
}

// checkView checks the limits of a modal.
func checkView(v slack.ModalViewRequest) error {
	if n := len([]rune(v.Title.Text)); n == 0 || n > 24 {
		return fmt.Errorf("a title of %d characters", n)
	}
	if n := len(v.PrivateMetadata); n > 3000 {
		return fmt.Errorf("private metadata of %d characters", n)
	}
	for _, b := range v.Blocks.BlockSet {
		input, is := b.(*slack.InputBlock)
		if !is {
			return fmt.Errorf("a block of the type %s, whose limits are unknown here", b.BlockType())
		}
		if n := len([]rune(input.Label.Text)); n == 0 || n > 2000 {
			return fmt.Errorf("a label of %d characters", n)
		}
		if field, is := input.Element.(*slack.PlainTextInputBlockElement); is && (field.MaxLength > 3000 ||
			len([]rune(field.InitialValue)) > field.MaxLength) {
			return fmt.Errorf("an input of at most %d characters has %d", field.MaxLength, len([]rune(field.InitialValue)))
		}
	}
	return nil
}
