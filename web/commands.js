// SPDX-License-Identifier: Apache-2.0
//
// Buttons of what else can be done with an item, each with its key.
import { cap, make } from './dom.js';

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
