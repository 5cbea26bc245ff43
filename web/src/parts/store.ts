import { useSyncExternalStore } from 'react';

/** State outside components, so that it survives a change of pages and can be tested without a browser. */
export class Store<S> {
  #state: S;
  #listeners = new Set<() => void>();
  #announced = false;

  constructor(initial: S) {
    this.#state = initial;
  }

  get state(): S {
    return this.#state;
  }

  update(change: Partial<S> | ((state: S) => Partial<S>)): void {
    const partial = typeof change === 'function' ? change(this.#state) : change;
    this.#state = { ...this.#state, ...partial };
    if (this.#announced) return;
    // Changes within one step are rendered together.
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      for (const listener of this.#listeners) listener();
    });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** Returns the state, or a part of it; the component re-renders when that part becomes another object or value. */
export function useStore<S>(store: Store<S>): S;
export function useStore<S, P>(store: Store<S>, part: (state: S) => P): P;
export function useStore<S, P>(store: Store<S>, part?: (state: S) => P): S | P {
  return useSyncExternalStore(store.subscribe, () => (part ? part(store.state) : store.state));
}
