import type { AppError } from '../errors.ts'
import type { Receipt } from './batch.ts'

/** Lets an HTTP request wait for its heartbeats: all parts on disk, or the first fault. */
export class HttpReceipt implements Receipt {
  #left = 0
  #failed: AppError | null = null
  #wake: (() => void) | undefined

  settle(_tag: number, error: AppError | null): void {
    this.#left--
    this.#failed ??= error
    this.#wake?.()
  }

  /** Resolves when `parts` settlements came without a fault. @throws the first fault. */
  async wait(parts: number): Promise<void> {
    this.#left += parts
    while (this.#left > 0 && this.#failed === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#failed !== null) throw this.#failed
  }
}
