import { Center, Loader } from '@mantine/core'
import { usePrefetchQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { NotFoundPage } from './pages/not-found.tsx'
import { MeProvider, meOf, useSession, useSessionNews } from './session.tsx'
import { monitorsQuery, overviewsQuery } from './ui/monitor-lists.ts'
import { ProblemAlert } from './ui/problem-alert.tsx'
import { ProveAgain } from './ui/prove-again.tsx'
import { Shell } from './ui/shell.tsx'

// What signed-out people see is small; the rest comes when it is needed.
const SignupPage = lazy(() => import('./pages/signup.tsx').then((m) => ({ default: m.SignupPage })))
const LoginPage = lazy(() => import('./pages/login.tsx').then((m) => ({ default: m.LoginPage })))
const ForgotPasswordPage = lazy(() =>
  import('./pages/forgot-password.tsx').then((m) => ({ default: m.ForgotPasswordPage }))
)
const ResetPasswordPage = lazy(() =>
  import('./pages/reset-password.tsx').then((m) => ({ default: m.ResetPasswordPage }))
)
const ConfirmEmailPage = lazy(() => import('./pages/confirm-email.tsx').then((m) => ({ default: m.ConfirmEmailPage })))
const InvitationPage = lazy(() => import('./pages/invitation.tsx').then((m) => ({ default: m.InvitationPage })))
const WelcomePage = lazy(() => import('./pages/welcome.tsx').then((m) => ({ default: m.WelcomePage })))
const MonitorsPage = lazy(() => import('./pages/monitors.tsx').then((m) => ({ default: m.MonitorsPage })))
const MonitorPage = lazy(() => import('./pages/monitor.tsx').then((m) => ({ default: m.MonitorPage })))
const AgentsPage = lazy(() => import('./pages/agents.tsx').then((m) => ({ default: m.AgentsPage })))
const SettingsPage = lazy(() => import('./pages/settings.tsx').then((m) => ({ default: m.SettingsPage })))

/** The list is asked for while the page that shows it is still on its way. */
function Overview() {
  usePrefetchQuery(monitorsQuery)
  usePrefetchQuery(overviewsQuery)
  return <MonitorsPage />
}

function Waiting() {
  return (
    <Center mih="60dvh">
      <Loader role="status" aria-label="Loading" />
    </Center>
  )
}

/** Pages of who is signed in; others are asked to sign in first and come back after it. */
function SignedIn() {
  const session = useSession()
  const [path] = useLocation()
  if (session.isPending) return <Waiting />
  if (session.data === undefined) return <ProblemAlert error={session.error} again={() => void session.refetch()} />
  const me = meOf(session.data)
  if (me === null)
    return <Redirect to={`/login?next=${encodeURIComponent(path + globalThis.location.search)}`} replace />
  return (
    <MeProvider me={me}>
      <ProveAgain>
        <Shell>
          <Suspense fallback={<Waiting />}>
            <Switch>
              <Route path="/" component={Overview} />
              <Route path="/welcome" component={WelcomePage} />
              <Route path="/monitors" component={Overview} />
              <Route path="/monitors/:id">{({ id }) => <MonitorPage key={id} id={id} />}</Route>
              <Route path="/agents" component={AgentsPage} />
              <Route path="/settings" component={SettingsPage} />
              <Route component={NotFoundPage} />
            </Switch>
          </Suspense>
        </Shell>
      </ProveAgain>
    </MeProvider>
  )
}

export function App() {
  useSessionNews()
  return (
    <Suspense fallback={<Waiting />}>
      <Switch>
        <Route path="/signup" component={SignupPage} />
        <Route path="/login" component={LoginPage} />
        <Route path="/forgot-password" component={ForgotPasswordPage} />
        <Route path="/reset-password" component={ResetPasswordPage} />
        <Route path="/confirm-email" component={ConfirmEmailPage} />
        <Route path="/invitations/:token">{({ token }) => <InvitationPage token={token} />}</Route>
        <Route component={SignedIn} />
      </Switch>
    </Suspense>
  )
}
