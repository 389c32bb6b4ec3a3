// SPDX-License-Identifier: Apache-2.0
//
// What else can be done with an item: buttons, each with its key, and what several views do alike.
import { cap, make } from './dom.js';

/** Does what is done alike in all views that label; whether it was such a command. */
export function answering(view, name) {
  switch (name) {
    case 'skip':
    case 'unsure':
      view.answer(name);
      return true;
    case 'undo':
      view.undo();
      return true;
    case 'find':
      view.buttons.find();
      return true;
    default:
      return false;
  }
}

/** Fills box with buttons of commands, [[name, words]…]; id(name) is an id of each, if any. */
export function drawCommands(box, app, commands, id = () => null) {
  box.replaceChildren(
    ...commands.map(([name, words]) =>
      make(
        'button',
        { type: 'button', id: id(name), onclick: () => app.command(name) },
        make('span', {}, words),
        app.keys.forCommand(name).slice(0, 1).map(cap)[0],
      ),
    ),
  );
}
