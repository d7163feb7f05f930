// Is there something that would be lost with what is shown? A key that was not copied yet is shown nowhere else.

export interface Keeping {
  /** Until the answer is called. */
  hold(): () => void;
  isHeld(): boolean;
  /** The user agreed to lose the key. */
  forget(): void;
}

export function openKeeping(): Keeping {
  const held = new Set<symbol>();
  return {
    hold() {
      const own = Symbol();
      held.add(own);
      return () => void held.delete(own);
    },
    isHeld: () => held.size > 0,
    forget: () => held.clear(),
  };
}
