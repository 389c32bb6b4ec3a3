// SPDX-License-Identifier: Apache-2.0
//
// Buttons of commands with their keys, and the commands that the labelling views share.
import { cap, make } from './dom.js';

/** Runs a command that the labelling views share; returns false for any other. */
export function runShared(view, name) {
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

/** Fills box with buttons of commands, [[name, words]…]; id(name): the id, or null. */
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
